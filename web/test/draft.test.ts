import assert from "node:assert/strict";
import { test } from "node:test";
import { emptyDraft, withChunk } from "../src/chat/draft.ts";

const delta = (fields: object) => ({ model: "m", choices: [{ delta: fields }] });

test("text and reasoning are put together", () => {
  let draft = emptyDraft();
  for (const chunk of [
    delta({ role: "assistant", content: "" }),
    delta({ reasoning_content: "hm" }),
    delta({ content: "a" }),
    delta({ content: "b" }),
    delta({}),
  ])
    draft = withChunk(draft, chunk);
  assert.equal(draft.content, "ab");
  assert.equal(draft.reasoning, "hm");
  assert.equal(draft.numTokens, 3);
  assert.equal(draft.model, "m");
});

test("calls of tools come in pieces", () => {
  let draft = emptyDraft();
  const calls = [
    [{ index: 0, id: "c1", function: { name: "f", arguments: '{"a"' } }],
    [{ index: 0, function: { arguments: ":1}" } }],
    [{ index: 1, id: "c2", function: { name: "g", arguments: "{}" } }],
  ];
  for (const tool_calls of calls) draft = withChunk(draft, delta({ tool_calls }));
  assert.deepEqual(draft.toolCalls, [
    { id: "c1", function: { name: "f", arguments: '{"a":1}' } },
    { id: "c2", function: { name: "g", arguments: "{}" } },
  ]);
});

test("a tool of the server replaces its earlier state", () => {
  const call = { id: "s", name: "t", arguments: "{}", status: "in_progress" };
  const draft = withChunk(withChunk(emptyDraft(), { server_tool_call: call }), {
    server_tool_call: { ...call, status: "completed", output: "1" },
  });
  assert.deepEqual(
    draft.serverCalls.map((one) => one.status),
    ["completed"],
  );
});
