// The machine view of a gateway whose models two workers compute. KVASIR_WORKER names one of them by its process.
import assert from "node:assert/strict";
import { test } from "node:test";
import { close, findNoViolation, openPage, url } from "./browser.mjs";

const ask = (id, stop) =>
  fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { "Content-Type": "application/json", "x-request-id": id },
    body: JSON.stringify({ model: "smollm2", messages: [{ role: "user", content: `${id} of you, count.` }], max_tokens: 4000, ignore_eos: true }),
    signal: stop,
  });

test("workers and upstreams are seen, with what they do", async () => {
  const page = await openPage("/#/machine");
  const fleet = page.locator("section.card", { has: page.getByRole("heading", { name: "Fleet" }) });
  await fleet.getByText("2 of 2 workers ready").waitFor();
  for (const id of ["worker1", "worker2"]) {
    const row = fleet.locator(`tr[data-worker="${id}"]`);
    await row.locator(".state.ready").waitFor();
    assert.match(await row.textContent(), /smollm2.*of \d+ blocks.*127\.0\.0\.1:\d+/);
  }
  await fleet.locator('tr[data-upstream="nobody"] .state', { hasText: "down" }).waitFor();
  assert.equal(await page.getByRole("button", { name: /^Unload/ }).count(), 0); // a gateway has no models to unload
  // Whatever worker has a request, it is in the table of requests.
  const stop = new AbortController();
  const ids = ["one", "two", "three", "four", "five", "six"].map((word) => `request-${word}`);
  const running = ids.map((id) => ask(id, stop.signal).catch(() => {}));
  for (const id of ids) await page.locator("tr", { hasText: id }).getByText("tokens written").waitFor();
  await page.waitForFunction((all) => {
    const rows = [...document.querySelectorAll("tr[data-worker]")];
    const sum = (column) => rows.reduce((so, row) => so + Number(row.children[column].textContent), 0);
    return rows.every((row) => Number(row.children[3].textContent) > 0) && sum(3) === all && sum(5) === all;
  }, ids.length);
  // The steps of each have a row of their own.
  await page.waitForFunction(
    () => document.querySelector("canvas[data-lanes]").dataset.lanes === "smollm2 on worker1,smollm2 on worker2",
  );
  await findNoViolation(page, "the machine view of a fleet");
  stop.abort();
  await Promise.all(running);
  await page.locator("tr", { hasText: "request-one" }).waitFor({ state: "detached" });
  await close(page);
});

test("a worker that dies is seen, and its return", async () => {
  const page = await openPage("/#/machine");
  const row = page.locator('tr[data-worker="worker1"]');
  await row.locator(".state.ready").waitFor();
  process.kill(Number(process.env.KVASIR_WORKER), "SIGKILL");
  await row.locator(".state.connecting").waitFor();
  await page.getByText("1 of 2 workers ready").waitFor();
  await page.getByText("2 of 2 workers ready").waitFor();
  await close(page);
});
