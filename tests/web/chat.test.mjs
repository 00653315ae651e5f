import assert from "node:assert/strict";
import { test } from "node:test";
import { answered, api, ask, close, conversation, findNoViolation, openPage, phone, url } from "./browser.mjs";

test("a conversation", async () => {
  const page = await openPage();
  const paint = await page.evaluate(() => performance.getEntriesByType("paint").at(-1).startTime);
  assert.ok(paint < 1000, `first paint after ${paint} ms`);
  await page.click("[aria-label='Settings of this conversation']");
  await page.getByLabel("Temperature").fill("0");
  await page.getByLabel("Longest answer").fill("60");
  await page.getByLabel("System prompt").fill("Answer with a bullet list.");
  await page.getByRole("button", { name: "Save" }).click();
  await ask(page, "Name three colours.");
  await answered(page);
  assert.match(await page.textContent(".assistant .figures"), /smollm2.*tokens in.*out.*first token.*tok\/s/);
  assert.ok((await page.textContent(".assistant .markdown")).trim().length > 10);
  const id = (await page.evaluate(() => location.hash)).split("/")[2];
  const stored = await api(`/v1/conversations/${id}`);
  assert.equal(stored.system_prompt, "Answer with a bullet list.");
  assert.equal(stored.settings.temperature, 0);
  await ask(page, "And one more?");
  await answered(page, 2);
  await findNoViolation(page, "a conversation");

  // Found by its title, renamed, and deleted.
  const entry = page.locator(".entry.current");
  assert.equal(await entry.textContent(), "Name three colours.");
  await entry.hover();
  await entry.getByLabel("Rename").click();
  await page.locator(".rename").fill("Colours of mine");
  await page.keyboard.press("Enter");
  await page.locator(".entry.current .title", { hasText: "Colours of mine" }).waitFor();
  await page.keyboard.press("Control+k");
  await page.keyboard.type("no such title");
  await page.getByText("No title has these words.").waitFor();
  await page.fill("#search", "colours of");
  await entry.hover();
  await entry.getByLabel("Delete").click();
  await page.locator(".entry.confirm").getByRole("button", { name: "Delete" }).click();
  await page.getByText("What shall we talk about?").waitFor();
  assert.equal((await fetch(`${url}/v1/conversations/${id}`)).status, 404);
  await close(page);
});

test("a message is edited, an answer made again, and a branch begun", async () => {
  const id = await conversation(24);
  const page = await openPage(`/#/chat/${id}`);
  await ask(page, "Say one word about rivers.");
  await answered(page);
  const first = await page.textContent(".assistant .markdown");
  await page.locator(".message.user").hover();
  await page.getByLabel("Edit and send again").click();
  await page.getByLabel("Edit the message").fill("Say one word about mountains.");
  await page.getByRole("button", { name: "Send", exact: true }).first().click();
  await page.locator(".user .versions", { hasText: "2 / 2" }).waitFor();
  await answered(page);
  assert.match(await page.textContent(".bubble"), /mountains/);
  await page.getByLabel("The version before").click();
  await page.locator(".bubble", { hasText: "rivers" }).waitFor();
  assert.equal(await page.textContent(".assistant .markdown"), first);
  await page.getByLabel("Answer again").click();
  await page.locator(".assistant .versions", { hasText: "2 / 2" }).waitFor();
  await answered(page);

  await ask(page, "Go on.");
  await answered(page, 2);
  await page.locator(".assistant").first().getByLabel("Branch from here").click();
  await page.getByText("A new branch after").waitFor();
  await ask(page, "Stop here.");
  await page.locator(".user .versions", { hasText: "2 / 2" }).last().waitFor();
  await answered(page, 2);
  assert.deepEqual(await page.locator(".bubble").allTextContents(), ["Say one word about rivers.", "Stop here."]);
  await page.reload();
  await page.locator(".bubble", { hasText: "Stop here." }).waitFor();
  await close(page);
});

test("a running answer is there again after a reload, and can be stopped", async () => {
  const id = await conversation(3000, { ignore_eos: true });
  const page = await openPage(`/#/chat/${id}`);
  await ask(page, "Tell a very long story.");
  const text = page.locator(".running .markdown");
  const longer = (than) =>
    page.waitForFunction(
      (least) => (document.querySelector(".running .markdown")?.textContent ?? "").length > least,
      than,
    );
  await longer(60);
  const before = await text.textContent();
  await page.reload();
  await longer(before.length + 40);
  assert.ok((await text.textContent()).startsWith(before.slice(0, 50)));
  assert.deepEqual(await page.locator(".bubble").allTextContents(), ["Tell a very long story."]);
  await page.keyboard.press("Escape");
  await page.locator(".figures .ending", { hasText: "stopped" }).waitFor();
  const stored = await api(`/v1/conversations/${id}/messages`);
  assert.equal(stored.data.at(-1).finish_reason, "cancelled");
  await close(page);
});

test("an error is shown, and the request can be tried again", async () => {
  const page = await openPage("/", { allow: ["400"] });
  await page.keyboard.press("Control+,");
  await page.getByLabel("Structured output").fill('{"type": "colour"}');
  await page.getByRole("button", { name: "Save" }).click();
  await ask(page, "List two numbers.");
  const problem = page.locator(".problem");
  await problem.getByText("Error 400").waitFor();
  assert.match(await problem.textContent(), /colour|type/);
  await findNoViolation(page, "an error");
  await page.keyboard.press("Control+,");
  await page.getByLabel("Structured output").fill('{"type": "array", "items": {"type": "integer"}, "maxItems": 2}');
  await page.getByRole("button", { name: "Save" }).click();
  await problem.getByRole("button", { name: "Try again" }).click();
  await answered(page);
  assert.ok(Array.isArray(JSON.parse(await page.textContent(".assistant .markdown"))));
  await close(page);
});

test("what a model writes cannot do anything", async () => {
  const id = await conversation(10);
  const hostile = [
    "<img src=x onerror=\"window.hit = 1\"> <script>window.hit = 2</script>",
    "[link](javascript:window.hit=3) ![picture](http://example.org/a.png)",
    "<a href=\"#\" onclick=\"window.hit = 4\">a</a> <style>body { display: none }</style>",
    "<div class=\"veil\" id=\"app\">over the page</div>",
    "<details open ontoggle=\"window.hit = 5\"><summary>a</summary></details> [data](data:text/html,x) H<sub>2</sub>O",
    "```python\nprint(\"<b>\")\n```",
  ].join("\n\n");
  await api(`/v1/conversations/${id}/messages`, {
    messages: [
      { role: "user", content: "<b>bold</b>" },
      { role: "assistant", content: hostile },
      { role: "user", content: "And deeper?" },
      { role: "assistant", content: "> ".repeat(6000) },
    ],
    generate: false,
  });
  const page = await openPage(`/#/chat/${id}`);
  await page.locator(".code").waitFor();
  assert.equal(await page.locator(".bubble").first().textContent(), "<b>bold</b>");
  // HTML is text, but for what cannot be anything else.
  const text = await page.locator(".markdown").first().textContent();
  assert.match(text, /<img src=x onerror=.*<div class="veil" id="app">over the page<\/div>.*<details open/s);
  assert.equal(await page.locator(".markdown sub").textContent(), "2");
  assert.equal(await page.locator(".markdown .veil").count(), 0);
  assert.match(await page.locator(".as-written").last().textContent(), /^(> ){1000}/);
  for (const link of await page.locator(".markdown a").all()) await link.click({ noWaitAfter: true, button: "middle" });
  assert.equal(await page.evaluate(() => window.hit), undefined);
  assert.equal(await page.locator(".markdown :is(img, script, style, [onclick], [href^=javascript], [href^=data], details)").count(), 0);
  await page.locator(".code").getByRole("button", { name: "Copy" }).click();
  await page.getByText("Copied").waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), 'print("<b>")');
  page.complaints = page.complaints.filter((one) => !one.includes("example.org")); // a tab that was asked for
  await close(page);
});

test("an answer of a megabyte and hundreds of conversations leave the page usable", async () => {
  const id = await conversation(10);
  const paragraph = (at) => `Paragraph ${at} with **bold** words, \`code\` and [a link](https://example.org).`;
  const content = Array.from({ length: 14_000 }, (_, at) => paragraph(at)).join("\n\n");
  assert.ok(content.length > 1_000_000);
  await api(`/v1/conversations/${id}/messages`, {
    messages: [
      { role: "user", content: "Everything" },
      { role: "assistant", content },
      { role: "user", content: "In code" },
      { role: "assistant", content: `\`\`\`js\n${"let a = 1;\n".repeat(15_000)}\`\`\`` },
      { role: "user", content: "Formatted" },
      { role: "assistant", content: content.slice(0, 150_000) },
    ],
    generate: false,
  });
  for (let at = 0; at < 240; at += 8)
    await Promise.all(
      Array.from({ length: 8 }, (_, more) => api("/v1/conversations", { model: "smollm2", title: `Talk number ${at + more}` })),
    );
  const page = await openPage(`/#/chat/${id}`);
  await page.locator(".message.assistant").nth(2).waitFor();
  assert.match(await page.locator(".as-written").first().textContent(), /^Paragraph 0 with \*\*bold\*\*/);
  assert.equal(await page.locator(".message.assistant").nth(2).locator("p strong").first().textContent(), "bold");
  await page.locator(".list .more").waitFor();
  assert.equal(await page.locator(".entry").count(), 150);
  const started = Date.now();
  await page.locator("#prompt").pressSequentially("still here");
  assert.ok(Date.now() - started < 5000, `ten letters took ${Date.now() - started} ms`);
  await page.fill("#search", "number 17 talk");
  await page.waitForFunction(() => document.querySelectorAll(".entry").length < 20);
  assert.ok((await page.locator(".entry").allTextContents()).every((title) => title.includes("17")));
  await close(page);
});

test("a text file is dropped into the prompt", async () => {
  const page = await openPage();
  await page.locator("input[type=file]").setInputFiles({
    name: "notes.txt",
    mimeType: "text/plain",
    buffer: Buffer.from("The secret word is heron."),
  });
  await page.locator(".chips", { hasText: "notes.txt" }).waitFor();
  await page.evaluate(() => {
    const data = new DataTransfer();
    data.items.add(new File(["A second file."], "more.md", { type: "text/markdown" }));
    document.querySelector(".chat").dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true }));
  });
  await page.locator(".chips", { hasText: "more.md" }).waitFor();
  await ask(page, "What is the secret word?");
  await page.locator(".bubble", { hasText: "The secret word is heron." }).waitFor();
  assert.match(await page.textContent(".bubble"), /more\.md\s+```\s+A second file\./);
  await answered(page);
  await close(page);
});

test("on a phone nothing is wider than the screen", async () => {
  const page = await openPage("/", { viewport: phone, colorScheme: "dark" });
  const fits = () => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth);
  await findNoViolation(page, "welcome on a phone, dark");
  await page.click("[aria-label='Menu']");
  await page.getByRole("button", { name: "New chat" }).click();
  await ask(page, "Write a table with six wide columns about planets.");
  await page.locator(".message.user").waitFor();
  await page.locator(".running .markdown .block").first().waitFor();
  assert.ok(await fits());
  await page.getByLabel("Stop").click();
  await answered(page);
  for (const view of ["machine", "playground"]) {
    await page.click("[aria-label='Menu']");
    await page.locator(`.views a[href='#/${view}']`).click();
    await page.locator(`main.${view} h1`).waitFor();
    assert.ok(await fits(), view);
  }
  await close(page);
});
