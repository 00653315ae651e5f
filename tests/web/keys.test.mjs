import assert from "node:assert/strict";
import { test } from "node:test";
import { answered, ask, close, findNoViolation, openPage } from "./browser.mjs";

const { KVASIR_TENANT_KEY: tenantKey, KVASIR_ADMIN_KEY: adminKey } = process.env;
const allow = ["401", "403"];

async function give(page, key) {
  await page.locator("dialog input[type=password]").fill(key);
  await page.getByRole("button", { name: "Use this key" }).click();
}

test("a key is asked for where the server wants one, and kept", async () => {
  const page = await openPage("/", { allow });
  await page.locator("dialog", { hasText: "Your API key" }).waitFor();
  await findNoViolation(page, "the question for a key");
  await give(page, "schlüssel €");
  await page.getByText("A key has letters").waitFor(); // it could not be sent
  await give(page, "kv-wrong");
  await page.getByText("mistyped, revoked or expired").waitFor();
  await give(page, tenantKey);
  await page.locator("#model option:not([disabled])", { hasText: "smollm2" }).waitFor({ state: "attached" });
  await ask(page, "Say hi.");
  await page.locator(".running .markdown .block, .figures").first().waitFor();
  await page.keyboard.press("Escape");
  await answered(page);
  await page.reload();
  await page.locator(".bubble", { hasText: "Say hi." }).waitFor();
  assert.equal(await page.locator("dialog").count(), 0);

  // It can be forgotten.
  await page.getByRole("button", { name: "API keys" }).click();
  await page.locator("dialog", { hasText: `…${tenantKey.slice(-4)}` }).waitFor();
  await findNoViolation(page, "the keys that are kept");
  await page.getByRole("button", { name: "Forget" }).click();
  await page.locator("dialog", { hasText: "Your API key" }).waitFor();
  await close(page);
});

test("the machine view wants an admin's key, and shows the tenants", async () => {
  const page = await openPage("/#/machine", { allow });
  await page.locator("dialog", { hasText: "An admin's key" }).waitFor();
  await give(page, tenantKey);
  await page.getByText("which does not reach this").waitFor();
  await give(page, adminKey);
  await page.locator(".live", { hasText: "live" }).waitFor();
  await page.locator("tr", { hasText: "acme" }).waitFor();
  assert.match(await page.locator("[aria-label='Table of tenants']").textContent(), /acme.*pro/);
  await close(page);
});
