import assert from "node:assert/strict";
import { test } from "node:test";
import { close, findNoViolation, openPage, phone, url } from "./browser.mjs";

const { KVASIR_ADMIN_KEY: adminKey } = process.env;
const allow = ["400", "401", "403", "404", "409"];

async function openTenants(options = {}) {
  const page = await openPage("/#/tenants", { allow, ...options });
  await page.locator("dialog", { hasText: "An admin's key" }).waitFor();
  await page.locator("dialog input[type=password]").fill(adminKey);
  await page.getByRole("button", { name: "Use this key" }).click();
  await page.getByLabel("Table of tenants").waitFor();
  return page;
}

const dialog = (page) => page.locator("dialog[open]");
const submit = (page, name) => dialog(page).getByRole("button", { name, exact: true }).click();

// The text of a key that was just made, from the only dialog that has it.
async function takeKey(page) {
  const shown = page.getByRole("textbox", { name: "The new key" });
  await shown.waitFor();
  const text = await shown.inputValue();
  assert.match(text, /^kv-.{20,}/);
  await submit(page, "Copy");
  await dialog(page).getByText("Copied").waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), text);
  await page.keyboard.press("Escape"); // must not lose it
  await submit(page, "I have kept it");
  await dialog(page).waitFor({ state: "detached" });
  assert.ok(!(await page.content()).includes(text), "the key is not shown again");
  return text;
}

const modelsWith = async (key) =>
  (await fetch(`${url}/v1/models`, { headers: { Authorization: `Bearer ${key}` } })).status;

async function chat(key) {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${key}` },
    body: JSON.stringify({ model: "smollm2", max_tokens: 4, messages: [{ role: "user", content: "Say hi." }] }),
  });
  assert.equal(response.status, 200);
  return (await response.json()).usage;
}

test("an admin makes a tenant, gives it keys, and sees what it uses", async () => {
  const page = await openTenants();
  await findNoViolation(page, "the list of tenants");
  await page.getByRole("button", { name: "New tenant" }).click();
  await dialog(page).getByLabel("Name").fill("no/name");
  await submit(page, "Create");
  await dialog(page).getByRole("alert").waitFor();
  assert.match(await dialog(page).getByRole("alert").textContent(), /name/);
  await findNoViolation(page, "a form with what is wrong");
  await dialog(page).getByLabel("Name").fill("workshop");
  await dialog(page).getByLabel("Tier").selectOption("free");
  assert.match(await dialog(page).textContent(), /60 requests a minute/);
  await dialog(page).getByLabel("System prompt").fill("Be brief.");
  await submit(page, "Create");
  await page.getByRole("heading", { name: "workshop" }).waitFor();
  assert.match(await page.locator(".limits").textContent(), /requests a minute\s*0 of 60/);

  await page.getByRole("button", { name: "New key" }).click();
  await dialog(page).getByLabel("Name").fill("laptop");
  await submit(page, "Create");
  const key = await takeKey(page);
  const row = page.locator("[aria-label='Table of keys'] tbody tr");
  await row.filter({ hasText: "laptop" }).waitFor();
  assert.match(await row.textContent(), new RegExp(`kv-…${key.slice(-4)}.*laptop.*tenant.*active`));

  const usage = await chat(key);
  const total = usage.prompt_tokens + usage.completion_tokens;
  await page.locator(".limits li", { hasText: "tokens a day" }).getByText(`${total} of 1,000,000`).waitFor();
  const used = page.locator("[aria-label='Table of usage'] tbody tr");
  await used.filter({ hasText: "smollm2" }).waitFor();
  const today = new Date().toISOString().slice(0, 10);
  const cells = await used.locator("td").allTextContents();
  const cost = (usage.prompt_tokens * 100 + usage.completion_tokens * 200) / 1e6;
  assert.deepEqual([cells[1], cells[2], cells[4], cells[6]], ["smollm2", "1", `${usage.prompt_tokens}`, `${usage.completion_tokens}`]);
  assert.equal(cells[7], `${cost} USD`);
  assert.equal(cells[0], today);
  await row.locator("td:nth-child(6)", { hasText: today }).waitFor(); // last used
  await findNoViolation(page, "a tenant");

  await row.getByRole("button", { name: "Rotate" }).click();
  await submit(page, "Cancel");
  await row.getByRole("button", { name: "Rotate" }).click();
  await submit(page, "Rotate");
  const next = await takeKey(page);
  assert.equal(await modelsWith(key), 401);
  assert.equal(await modelsWith(next), 200);
  await row.filter({ hasText: `kv-…${next.slice(-4)}` }).getByRole("button", { name: "Revoke" }).click();
  await submit(page, "Revoke");
  await page.getByRole("button", { name: "Show 2 revoked and expired" }).click();
  assert.equal(await row.count(), 2);
  assert.equal(await modelsWith(next), 401);

  await page.getByRole("button", { name: "Change" }).click();
  await dialog(page).getByLabel("Tier").selectOption("pro");
  await submit(page, "Save");
  await page.locator(".head .state", { hasText: "pro" }).waitFor();
  await page.getByRole("button", { name: "Delete" }).click();
  await submit(page, "Delete");
  await dialog(page).getByRole("alert").waitFor(); // its name was not typed
  await dialog(page).getByRole("textbox").fill("workshop");
  await submit(page, "Delete");
  await page.getByLabel("Table of tenants").waitFor();
  assert.equal(await page.locator("tr", { hasText: "workshop" }).count(), 0);
  await close(page);
});

test("tenants on a phone, with the keyboard alone", async () => {
  const page = await openTenants({ viewport: phone, colorScheme: "dark" });
  const fits = () => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth);
  assert.ok(await fits());
  await findNoViolation(page, "tenants on a phone, dark");
  await page.getByRole("link", { name: "acme" }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "acme" }).waitFor();
  await page.getByLabel("Table of keys").waitFor();
  assert.ok(await fits());
  await page.getByRole("button", { name: "New key" }).focus();
  await page.keyboard.press("Enter");
  await dialog(page).waitFor();
  await page.keyboard.press("Escape");
  await dialog(page).waitFor({ state: "detached" });
  await findNoViolation(page, "a tenant on a phone, dark");
  await close(page);
});
