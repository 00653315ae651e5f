// A real browser for the tests of the page. KVASIR_URL names the server, KVASIR_CHROMIUM the browser.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { after, before } from "node:test";

const require = createRequire(new URL("../../web/", import.meta.url));
const { chromium } = require("playwright-core");
const axe = require.resolve("axe-core/axe.min.js");

export const url = process.env.KVASIR_URL;
export const desk = { width: 1280, height: 860 };
export const phone = { width: 390, height: 844 };

let browser;
before(async () => {
  browser = await chromium.launch({
    executablePath: process.env.KVASIR_CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox"],
  });
});
after(() => browser.close());

// A page of its own. It fails on scripts that throw, on what the content policy blocks, and on addresses elsewhere.
export async function openPage(path = "/", { viewport = desk, colorScheme = "light", allow = [] } = {}) {
  const context = await browser.newContext({ viewport, colorScheme });
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  page.complaints = [];
  page.on("pageerror", (error) => page.complaints.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error" && !allow.some((word) => message.text().includes(word)))
      page.complaints.push(message.text());
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(url)) page.complaints.push(`asked ${request.url()}`);
  });
  await page.goto(url + path);
  await page.waitForSelector(".shell");
  return page;
}

export async function close(page) {
  assert.deepEqual(page.complaints, []);
  await page.context().close();
}

export async function api(path, body, method = body ? "POST" : "GET", headers = {}) {
  const response = await fetch(url + path, {
    method,
    headers: { "Content-Type": "application/json", ...headers },
    body: body && JSON.stringify(body),
  });
  const text = await response.text();
  assert.ok(response.ok, `${method} ${path}: ${response.status} ${text}`);
  return JSON.parse(text);
}

// A conversation whose answers are always the same, and end after so many tokens.
export async function conversation(maxTokens, more = {}) {
  const settings = { temperature: 0, max_tokens: maxTokens, ...more };
  const made = await api("/v1/conversations", { model: "smollm2", settings });
  return made.id;
}

export async function ask(page, text) {
  await page.fill("#prompt", text);
  await page.keyboard.press("Enter");
}

export const answered = (page, count = 1) =>
  page.waitForFunction(
    (wanted) =>
      document.querySelectorAll(".message.assistant:not(.running) .figures").length === wanted &&
      !document.querySelector(".running"),
    count,
    { timeout: 120_000 },
  );

export async function findNoViolation(page, what) {
  // axe is put in by the browser's own tools, which the content policy does not concern.
  await page.evaluate(require("node:fs").readFileSync(axe, "utf8"));
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  const told = violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.html).slice(0, 3).join(" | ")}`);
  assert.deepEqual(told, [], what);
}
