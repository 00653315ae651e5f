import assert from "node:assert/strict";
import { test } from "node:test";
import { answered, api, ask, close, conversation, findNoViolation, openPage } from "./browser.mjs";

test("what did not fit into the context any more is told, and where it ends", async () => {
  const id = await conversation(16);
  const turns = Array.from({ length: 12 }, (_, at) => [
    { role: "user", content: `Fact ${at}: box ${at} holds a red ball, a blue cup, a green book and a yellow hat.` },
    { role: "assistant", content: "I see." },
  ]).flat();
  await api(`/v1/conversations/${id}/messages`, { messages: turns, generate: false });
  const page = await openPage(`/#/chat/${id}`);
  await page.locator(".message.assistant").nth(11).waitFor();
  await ask(page, "What is in box 11?");
  await page.locator(".cut").waitFor();
  const stored = await api(`/v1/conversations/${id}/messages?limit=100`);
  const context = stored.data.at(-1).context;
  assert.ok(context.dropped_messages > 0);
  assert.match(await page.textContent(".dropped"), new RegExp(`${context.dropped_messages} older messages did not fit`));
  assert.equal(await page.locator(".message.out").count(), context.dropped_messages);
  const first = await page.evaluate(() => document.querySelector(".cut").nextElementSibling.dataset.id);
  assert.equal(first, context.first_message_id);
  await findNoViolation(page, "a conversation that was cut");
  await answered(page, 13);
  await close(page);
});
