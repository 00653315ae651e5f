import assert from "node:assert/strict";
import { test } from "node:test";
import { EventParser } from "../src/api/sse.ts";

const stream = 'id: 1\ndata: {"a":1}\n\n: ping\n\nevent: look\ndata: x\ndata: y\n\ndata: [DONE]\n\n';
const events = [
  { event: "message", data: '{"a":1}', id: "1" },
  { event: "look", data: "x\ny", id: "" },
  { event: "message", data: "[DONE]", id: "" },
];

test("events are the same however the text is cut", () => {
  for (let size = 1; size <= stream.length; size++) {
    const parser = new EventParser();
    const found = [];
    for (let at = 0; at < stream.length; at += size) found.push(...parser.push(stream.slice(at, at + size)));
    assert.deepEqual(found, events);
  }
});

test("carriage returns and a missing end", () => {
  const parser = new EventParser();
  assert.deepEqual(parser.push("data: a\r\n\r\ndata: b"), [{ event: "message", data: "a", id: "" }]);
  assert.deepEqual(parser.push("\n\n"), [{ event: "message", data: "b", id: "" }]);
});
