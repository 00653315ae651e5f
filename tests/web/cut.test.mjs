import assert from "node:assert/strict";
import net from "node:net";
import { after, test } from "node:test";

// The way to the server, which can be cut.
const server = new URL(process.env.KVASIR_URL);
const sockets = new Set();
const way = net.createServer((near) => {
  const far = net.connect(Number(server.port), server.hostname);
  for (const [from, to] of [
    [near, far],
    [far, near],
  ]) {
    sockets.add(from);
    from.pipe(to);
    from.on("error", () => {});
    from.on("close", () => {
      sockets.delete(from);
      to.destroy();
    });
  }
});
await new Promise((resolve) => way.listen(0, "127.0.0.1", resolve));
after(() => way.close());
const cut = () => {
  for (const socket of sockets) socket.destroy();
};

process.env.KVASIR_URL = `http://127.0.0.1:${way.address().port}`;
const { answered, api, ask, close, conversation, openPage } = await import("./browser.mjs");

const lost = ["ERR_CONNECTION", "ERR_EMPTY_RESPONSE", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_INTERNET_DISCONNECTED"];

test("an answer whose connection is cut goes on by itself", async () => {
  const id = await conversation(120, { ignore_eos: true });
  const page = await openPage(`/#/chat/${id}`, { allow: lost });
  await ask(page, "Tell a long story.");
  await page.waitForFunction(() => (document.querySelector(".running .markdown")?.textContent ?? "").length > 60);
  cut();
  await answered(page);
  const stored = await api(`/v1/conversations/${id}/messages`);
  assert.equal(stored.data.length, 2);
  assert.equal(stored.data.at(-1).finish_reason, "length");
  assert.deepEqual(await page.locator(".bubble").allTextContents(), ["Tell a long story."]);
  await close(page);
});

test("what was written is not lost where the server cannot be reached", async () => {
  const page = await openPage("/", { allow: lost });
  await page.locator("#model option:not([disabled])").first().waitFor({ state: "attached" });
  await page.context().setOffline(true);
  await ask(page, "Do not lose me.");
  await page.locator(".toast", { hasText: "cannot be reached" }).waitFor();
  assert.equal(await page.inputValue("#prompt"), "Do not lose me.");
  await page.context().setOffline(false);
  await page.focus("#prompt");
  await page.keyboard.press("Enter");
  await page.locator(".bubble", { hasText: "Do not lose me." }).waitFor();
  await page.keyboard.press("Escape");
  await answered(page);
  await close(page);
});
