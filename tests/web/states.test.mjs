import assert from "node:assert/strict";
import { test } from "node:test";
import { answered, ask, close, openPage } from "./browser.mjs";

test("a model that cannot be loaded is shown with the reason, and the other one answers", async () => {
  const page = await openPage();
  await page.locator(".states li.failed", { hasText: "broken" }).waitFor();
  assert.ok((await page.textContent(".states li.failed span")).length > 10);
  assert.equal(await page.locator("#model").inputValue(), "smollm2");
  await ask(page, "Say hi.");
  await page.locator(".running .markdown .block, .figures").first().waitFor();
  await page.keyboard.press("Escape");
  await answered(page);
  await close(page);
});
