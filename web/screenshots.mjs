// The pictures of docs/images; scripts/screenshots.py starts the server and says which part to take.
import { join } from "node:path";
import { chromium } from "playwright-core";

const {
  KVASIR_URL: url,
  KVASIR_IMAGES: folder,
  KVASIR_CHROMIUM: executablePath = "/usr/bin/chromium",
} = process.env;
const keys = { key: process.env.KVASIR_TENANT_KEY, adminKey: process.env.KVASIR_ADMIN_KEY };
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });

async function open(path, viewport, { colorScheme = "light", scale = 1.5 } = {}) {
  const context = await browser.newContext({ viewport, colorScheme, deviceScaleFactor: scale });
  await context.addInitScript((given) => {
    for (const [name, value] of Object.entries(given))
      localStorage.setItem(`kvasir.${name}`, JSON.stringify(value));
    if (localStorage.getItem("kvasir.choices") === null)
      localStorage.setItem(
        "kvasir.choices",
        JSON.stringify({
          model: "qwen2.5-coder",
          systemPrompt: "Answer briefly.",
          contextPolicy: "sliding_window",
          settings: { temperature: 0, max_tokens: 400 },
        }),
      );
  }, keys);
  const page = await context.newPage();
  page.setDefaultTimeout(240_000);
  await page.goto(url + path);
  return page;
}

async function ask(page, text, count) {
  await page.fill("#prompt", text);
  await page.keyboard.press("Enter");
  await page.waitForFunction(
    (wanted) => document.querySelectorAll(".assistant:not(.running) .figures").length === wanted,
    count,
  );
}

const picture = (page, name) => page.screenshot({ path: join(folder, `${name}.png`) });

async function chat() {
  const page = await open("/", { width: 1240, height: 800 });
  for (const text of [
    "Compare TCP and QUIC in a table with three rows.",
    "What does RAII stand for? One sentence.",
  ]) {
    await ask(page, text, 1);
    await page.getByRole("button", { name: "New chat" }).click();
  }
  await ask(
    page,
    "Write a short Python function that merges overlapping intervals. Only the code, without comments.",
    1,
  );
  await ask(page, "How fast is it? One sentence, with the complexity in bold.", 2);
  await page.evaluate(() => document.activeElement.blur());
  await picture(page, "chat");
  const id = await page.evaluate(() => location.hash);
  const small = await open(`/${id}`, { width: 390, height: 780 }, { colorScheme: "dark", scale: 2 });
  await small.waitForSelector(".figures");
  await small.waitForTimeout(300);
  await picture(small, "phone");
}

async function machine() {
  const page = await open("/#/machine", { width: 1240, height: 960 }, { colorScheme: "dark" });
  await page.waitForSelector(".live");
  await page.waitForTimeout(45_000); // for the charts to have something to show
  await picture(page, "machine");
  const tenant = await open("/#/tenants/harbour", { width: 1240, height: 860 });
  await tenant.locator("[aria-label='Table of usage'] tbody tr").first().waitFor();
  await picture(tenant, "tenants");
}

await (process.argv[2] === "chat" ? chat() : machine());
await browser.close();
