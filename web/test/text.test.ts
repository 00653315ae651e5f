import assert from "node:assert/strict";
import { test } from "node:test";
import type { Message } from "../src/api/types.ts";
import { formatOf, schemaText } from "../src/chat/schema.ts";
import {
  dayOf,
  fenced,
  firstGiven,
  shortTime,
  textOf,
  tokensPerSecond,
  withAttachments,
} from "../src/chat/text.ts";

const message = (fields: Partial<Message>) => fields as Message;

test("speed counts the tokens after the first", () => {
  const timings = { first_token_ms: 100, total_ms: 1100 };
  const usage = { prompt_tokens: 5, completion_tokens: 11 };
  assert.equal(tokensPerSecond(message({ timings, usage })), 10);
  assert.equal(tokensPerSecond(message({ timings: null, usage })), null);
  assert.equal(
    tokensPerSecond(message({ timings, usage: { prompt_tokens: 5, completion_tokens: 1 } })),
    null,
  );
});

test("a file cannot end its fence", () => {
  assert.equal(fenced("", "a\n"), "```\na\n```");
  assert.equal(fenced("", "```js\n```"), "````\n```js\n```\n````");
  assert.equal(withAttachments("Why?", [{ name: "a.txt", text: "x" }]), "a.txt\n```\nx\n```\n\nWhy?");
});

test("content in parts", () => {
  assert.equal(
    textOf(
      message({
        content: [
          { type: "text", text: "a" },
          { type: "text", text: "b" },
        ],
      }),
    ),
    "ab",
  );
  assert.equal(textOf(message({ content: null })), "");
});

test("days and times", () => {
  const now = new Date(2026, 10, 18, 9);
  const at = (day: number) => new Date(2026, 10, day, 23).getTime() / 1000;
  assert.equal(dayOf(at(18), now), "Today");
  assert.equal(dayOf(at(17), now), "Yesterday");
  assert.equal(dayOf(at(13), now), "This week");
  assert.equal(dayOf(at(1), now), "This month");
  assert.equal(shortTime(99.6), "100 ms");
  assert.equal(shortTime(61_000), "1 min 1 s");
});

test("a schema may be pasted plain or wrapped", () => {
  const schema = { type: "object", properties: {} };
  const format = { type: "json_schema", json_schema: { name: "answer", schema } };
  assert.deepEqual(formatOf(JSON.stringify(schema)), format);
  assert.deepEqual(formatOf(JSON.stringify(format)), format);
  assert.deepEqual(formatOf(JSON.stringify({ name: "n", schema })), {
    type: "json_schema",
    json_schema: { name: "n", schema },
  });
  assert.equal(formatOf("  "), null);
  assert.throws(() => formatOf("[1]"));
  assert.throws(() => formatOf("{"));
  assert.deepEqual(JSON.parse(schemaText(format)), schema);
  assert.equal(schemaText(null), "");
});

test("the first message that the model was given", () => {
  const context = (dropped: number) =>
    ({ dropped_messages: dropped, summarized_messages: 0, first_message_id: "m3" }) as Message["context"];
  const user = message({ context: null });
  assert.equal(firstGiven([user]), null);
  assert.equal(firstGiven([user, message({ context: context(0) })]), null);
  assert.equal(firstGiven([user, message({ context: context(2) }), user]), "m3");
  assert.equal(firstGiven([message({ context: context(2) }), user, message({ context: context(0) })]), null);
});
