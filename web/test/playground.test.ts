import assert from "node:assert/strict";
import { test } from "node:test";
import { textOf } from "../src/playground/exchange.ts";
import { curlOf, openaiOf } from "../src/playground/snippets.ts";
import { parseRoute, pathOf } from "../src/ui/route.ts";

const chat = { method: "POST", path: "/v1/chat/completions", body: '{"model":"m","stream":true,"x":null}' };

test("curl quotes what the shell would read", () => {
  const text = curlOf({ ...chat, body: '{"a":"it\'s"}' }, "http://h", true);
  assert.ok(text.includes(`-d '{"a":"it'\\''s"}'`), text);
  assert.ok(text.includes("Bearer $KVASIR_API_KEY"));
  assert.equal(
    curlOf({ method: "GET", path: "/v1/models", body: "" }, "http://h", false),
    "curl http://h/v1/models",
  );
  assert.ok(curlOf({ method: "DELETE", path: "/x", body: "" }, "http://h", false).includes("-X DELETE"));
});

test("openai's client gets its own fields and the rest", () => {
  const text = openaiOf(chat, "http://h", false)!;
  assert.ok(text.includes("client.chat.completions.create("), text);
  assert.ok(text.includes("stream=True"));
  assert.ok(text.includes('extra_body={"x": None}'));
  assert.equal(openaiOf({ ...chat, path: "/v1/tokenize" }, "http://h", false), null);
  assert.equal(openaiOf({ ...chat, body: "{" }, "http://h", false), null);
});

test("the text of all three kinds of streams", () => {
  const event = (data: object) => ({ ms: 0, event: "message", data: JSON.stringify(data) });
  const events = [
    event({ choices: [{ delta: { content: "a" } }] }),
    event({ choices: [{ text: "b" }] }),
    event({ type: "response.output_text.delta", delta: "c" }),
    event({ type: "content_block_delta", delta: { type: "text_delta", text: "d" } }),
    { ms: 0, event: "message", data: "[DONE]" },
  ];
  assert.equal(textOf(events), "abcd");
});

test("routes", () => {
  assert.deepEqual(parseRoute("#/chat/conv_1"), { view: "chat", id: "conv_1" });
  assert.deepEqual(parseRoute(""), { view: "chat", id: null });
  assert.deepEqual(parseRoute("#/machine"), { view: "machine", id: null });
  assert.equal(pathOf("chat", "conv_1"), "#/chat/conv_1");
});
