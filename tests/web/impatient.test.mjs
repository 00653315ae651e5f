import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { test } from "node:test";
import { ask, close, findNoViolation, openPage } from "./browser.mjs";

const { KVASIR_RELEASE: release } = process.env; // a file; once it is there, the only model comes in whole

test("a question that comes before any model is answered when one is there", async () => {
  const page = await openPage("/", { allow: ["503"] });
  await page.locator(".states li", { hasText: "larger" }).getByText(/downloads/).waitFor();
  await ask(page, "Say hi.");
  await page.getByText("The model is not there yet. It is asked as soon as it is.").waitFor();
  await findNoViolation(page, "a question that waits");
  writeFileSync(release, "");
  const figures = page.locator(".message.assistant:not(.running) .figures");
  await figures.waitFor({ timeout: 120_000 });
  assert.match(await figures.textContent(), /larger.*tokens in.*out/);
  assert.deepEqual(await page.locator(".bubble").allTextContents(), ["Say hi."]);
  await close(page);
});
