import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { test } from "node:test";
import { ask, close, findNoViolation, openPage, url } from "./browser.mjs";

const { KVASIR_RELEASE: release } = process.env; // a file; once it is there, the larger model comes in whole

// {'name{labels}': value} of /metrics.
async function metrics() {
  const text = await (await fetch(`${url}/metrics`)).text();
  const rows = text.split("\n").filter((line) => line && !line.startsWith("#"));
  return Object.fromEntries(rows.map((row) => [row.slice(0, row.lastIndexOf(" ")), Number(row.slice(row.lastIndexOf(" ") + 1))]));
}

function sumOf(all, name, labels) {
  const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  const found = Object.entries(all).filter(([key]) => key.startsWith(`${name}{`) && wanted.every((one) => key.includes(one)));
  return found.reduce((sum, [, value]) => sum + value, 0);
}

test("a newcomer chats while the larger model is on its way, and finds the same numbers everywhere", async () => {
  const page = await openPage();
  const paint = await page.evaluate(() => performance.getEntriesByType("paint").at(-1).startTime);
  assert.ok(paint < 1000, `first paint after ${paint} ms`);
  const onItsWay = page.locator(".states li", { hasText: "larger" });
  await onItsWay.getByText(/downloads, [1-9][0-9]? %/).waitFor();
  await onItsWay.locator("progress").waitFor();
  await findNoViolation(page, "a download");
  const larger = page.locator("#model option[value=larger]");
  assert.ok(await larger.isDisabled());

  // The small one answers, twice.
  const answers = page.locator(".message.assistant:not(.running)");
  await page.getByRole("button", { name: /^Summarize/ }).click();
  await answers.locator(".figures").first().waitFor({ timeout: 120_000 });
  await ask(page, "And a fourth one?");
  await answers.locator(".figures").nth(1).waitFor({ timeout: 120_000 });
  const figures = await answers
    .locator(".figures")
    .evaluateAll((all) => all.map((one) => [...one.children].map((part) => part.textContent).join(", ")));
  for (const one of figures) assert.match(one, /smollm2.*tokens in.*out.*first token/);
  await onItsWay.getByText(/downloads/).waitFor(); // still
  const written = figures.reduce((sum, one) => sum + Number(/(\d+) out/.exec(one)[1]), 0);
  const read = figures.reduce((sum, one) => sum + Number(/(\d+) tokens in/.exec(one)[1]), 0);

  // The machine view and /metrics say the same.
  await page.locator(".views a[href='#/machine']").click();
  await page.locator("[aria-label='Table of models'] tr", { hasText: "larger" }).getByText("downloading").waitFor();
  const row = page.locator("[aria-label='Table of totals'] tr[data-model=smollm2]");
  await row.locator("[data-counter=completed]", { hasText: "2" }).waitFor();
  const cell = async (counter) => Number((await row.locator(`[data-counter=${counter}]`).textContent()).replaceAll(",", ""));
  const all = await metrics();
  const tokens = (kind) => sumOf(all, "llm_tokens_total", { model: "smollm2", kind });
  assert.equal(sumOf(all, "llm_requests_total", { model: "smollm2", outcome: "completed" }), 2);
  assert.equal(tokens("output"), written);
  assert.equal(await cell("output_tokens"), written);
  assert.equal(tokens("prompt") + tokens("cached"), read);
  assert.equal((await cell("prompt_tokens")) + (await cell("cached_tokens")), read);
  await findNoViolation(page, "the machine view");

  // The larger one comes in.
  writeFileSync(release, "");
  await page.locator(".views a[href='#/chat']").click();
  await onItsWay.waitFor({ state: "detached", timeout: 120_000 });
  assert.ok(await larger.isEnabled());
  await page.locator("#model option[value=auto]").waitFor({ state: "attached" });
  await close(page);
});
