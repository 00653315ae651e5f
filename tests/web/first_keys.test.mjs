import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { close, findNoViolation, openPage } from "./browser.mjs";

const { KVASIR_BIN: bin, KVASIR_DATA: data } = process.env;

test("a server without keys tells how the first ones are made, and they work", async () => {
  const page = await openPage("/#/tenants", { allow: ["401", "403"] });
  await page.getByText("This server has no keys").waitFor();
  await findNoViolation(page, "no keys");
  const commands = (await page.locator(".no-keys pre").textContent()).trim().split("\n");
  assert.equal(commands.length, 3);
  let key = "";
  for (const command of commands) {
    const [program, ...words] = command.split(" ");
    assert.equal(program, "kvasir");
    key = execFileSync(bin, [...words, "--data-dir", data], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
  }
  const dialog = page.locator("dialog", { hasText: "An admin's key" });
  // The server sees the keys within half a second; until then the page says the same as before.
  const again = () => page.evaluate(() => [...document.querySelectorAll(".no-keys button")].at(-1)?.click());
  const isAsking = () =>
    dialog.waitFor({ timeout: 500 }).then(
      () => true,
      () => false,
    );
  do await again();
  while (!(await isAsking()));
  await dialog.locator("input[type=password]").fill(key);
  await page.getByRole("button", { name: "Use this key" }).click();
  await page.getByRole("link", { name: "acme" }).click();
  const keys = page.getByLabel("Table of keys");
  await keys.getByText("laptop", { exact: true }).first().waitFor();
  assert.match(await keys.textContent(), /admin.*laptop|laptop.*admin/s);
  await close(page);
});
