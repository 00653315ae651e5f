import assert from "node:assert/strict";
import { test } from "node:test";
import { api, close, findNoViolation, openPage, url } from "./browser.mjs";

const body = (maxTokens) => ({
  model: "smollm2",
  messages: [{ role: "user", content: "Count upwards from one, and never stop." }],
  max_tokens: maxTokens,
  ignore_eos: true,
  temperature: 0,
});

test("the machine view moves, and a request is cancelled in it", async () => {
  const page = await openPage("/#/machine");
  await page.locator(".live", { hasText: "live" }).waitFor();
  const steps = () => page.locator("canvas[data-steps]").getAttribute("data-steps").then(Number);
  const before = await steps();
  const running = fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { "Content-Type": "application/json", "x-request-id": "seen-in-the-view" },
    body: JSON.stringify(body(4000)),
  });
  const row = page.locator("tr", { hasText: "seen-in-the-view" });
  await row.getByText("tokens written").waitFor();
  await page.waitForFunction((least) => Number(document.querySelector("canvas[data-steps]").dataset.steps) > least + 20, before);
  await page.waitForFunction(() => Number(document.querySelector(".numbers dd").textContent) > 0);
  await findNoViolation(page, "the machine view");
  await row.getByRole("button", { name: "Cancel" }).click();
  const response = await running;
  assert.equal(response.status, 499);
  assert.equal((await response.json()).error.code, "request_cancelled");
  await row.waitFor({ state: "detached" });
  await page.locator(".reasons", { hasText: "request_cancelled" }).waitFor();
  await close(page);
});

test("a step tells its requests under the mouse", async () => {
  const page = await openPage("/#/machine");
  await page.locator(".live", { hasText: "live" }).waitFor();
  await api("/v1/chat/completions", body(60));
  await page.waitForFunction(() => Number(document.querySelector("canvas[data-steps]").dataset.steps) > 40);
  const box = await page.locator("canvas[data-steps]").boundingBox();
  const tip = page.locator(".tip");
  for (let x = box.width - 4; x > 0 && !(await tip.isVisible()); x -= 6)
    await page.mouse.move(box.x + x, box.y + 20 + 84 - 8);
  assert.match(await tip.textContent(), /127\.0\.0\.1.*(next token|prompt).*step of smollm2.*plan .* run .* commit/s);
  // The same with the keyboard.
  await page.mouse.move(0, 0);
  await tip.waitFor({ state: "detached" });
  await page.locator("canvas[data-steps]").focus();
  await page.keyboard.press("ArrowLeft");
  const last = await tip.textContent();
  assert.match(last, /step of smollm2/);
  await page.keyboard.press("ArrowLeft");
  await page.waitForFunction((before) => document.querySelector(".tip")?.textContent !== before, last);
  await page.keyboard.press("Escape");
  await tip.waitFor({ state: "detached" });
  await close(page);
});

test("the playground shows events with their times, and snippets", async () => {
  const page = await openPage("/#/playground", { colorScheme: "dark" });
  await page.getByLabel("Body").fill(JSON.stringify({ ...body(12), stream: true }));
  await page.getByRole("button", { name: "Send" }).click();
  await page.locator(".events tbody tr", { hasText: "[DONE]" }).waitFor();
  const times = await page.locator(".events tbody tr td:first-child").allTextContents();
  // Tokens that come while the connection is busy share an event, so there may be fewer than tokens.
  assert.ok(times.length >= 3 && times.every((time, at) => at === 0 || Number(time) >= Number(times[at - 1])));
  await findNoViolation(page, "the playground, dark");
  await page.getByRole("tab", { name: "Text" }).click();
  assert.ok((await page.locator(".answer pre").textContent()).length > 5);
  const snippets = page.getByLabel("Snippets").first();
  assert.match(await snippets.textContent(), /curl http.*\/v1\/chat\/completions/);
  await page.getByRole("tab", { name: "openai" }).click();
  assert.match(await snippets.textContent(), /client\.chat\.completions\.create\(/);
  await close(page);
});

test("models are loaded and unloaded in the machine view", async () => {
  const page = await openPage("/#/machine", { allow: ["status of 400"] }); // of a model that is broken
  const models = page.locator("section.card", { has: page.getByRole("heading", { name: "Models" }) });
  const row = models.locator("tr", { hasText: "sprout" });
  await models.getByText(/more could be loaded/).click();
  await row.getByRole("button", { name: "Load" }).click();
  await row.locator(".state", { hasText: "ready" }).waitFor();
  await row.getByText(/[MG]iB/).first().waitFor();
  await models.locator("tr", { hasText: "smollm2" }).getByText("pinned").waitFor();
  await findNoViolation(page, "the machine view with models that could be loaded");
  const answer = await api("/v1/completions", { model: "sprout", prompt: "ab", max_tokens: 2 });
  assert.equal(answer.model, "sprout");
  await row.getByRole("button", { name: "Unload" }).click();
  await row.getByRole("button", { name: "Load" }).waitFor();
  await models.locator("tr", { hasText: "broken" }).getByRole("button", { name: "Load" }).click();
  await models.getByRole("alert").filter({ hasText: "broken.gguf" }).waitFor();
  await models.locator("tr", { hasText: "broken" }).getByRole("button", { name: "Forget" }).click();
  await models.locator("tr", { hasText: "broken" }).getByRole("button", { name: "Load", exact: false }).waitFor();
  await close(page);
});
