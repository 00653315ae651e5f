import assert from "node:assert/strict";
import { test } from "node:test";
import {
  costText,
  fullestLimit,
  lastDays,
  modelsText,
  secondsOf,
  tierText,
  totalOf,
} from "../src/tenants/figures.ts";
import type { Tier, Usage } from "../src/tenants/types.ts";
import { parseRoute, pathOf } from "../src/ui/route.ts";

const usage = (fields: Partial<Usage>): Usage => ({
  requests: 1,
  cancelled: 0,
  failed: 0,
  prompt_tokens: 10,
  cached_tokens: 0,
  completion_tokens: 5,
  cost: null,
  currency: null,
  ...fields,
});

test("a tier in words", () => {
  const tier = {
    id: "free",
    requests_per_minute: 60,
    max_context: 4096,
    models: ["smollm2"],
  } as unknown as Tier;
  assert.equal(tierText(tier), "60 requests a minute, context 4,096");
  assert.equal(modelsText(tier), "smollm2");
  assert.equal(tierText({ ...tier, requests_per_minute: null, max_context: null }), "no limits");
});

test("the limit of which most is used", () => {
  assert.equal(fullestLimit({}), null);
  const limits = { requests_per_minute: { limit: 60, used: 6 }, tokens_per_day: { limit: 1000, used: 340 } };
  assert.equal(fullestLimit(limits), "tokens a day 34 %");
});

test("costs are short, and never added over currencies", () => {
  assert.equal(costText(null, null), "–");
  assert.equal(costText(0.0028, "USD"), "0.0028 USD");
  assert.equal(costText(0, "USD"), "0.00 USD");
  assert.equal(costText(12, null), "12.00");
  const total = totalOf([
    usage({ cost: 0.5, currency: "USD" }),
    usage({ cost: 0.25, currency: "USD" }),
    usage({ cost: 2, currency: "EUR" }),
    usage({}),
  ]);
  assert.deepEqual(total, { requests: 4, input: 40, output: 20, costs: "0.75 USD + 2.00 EUR" });
});

test("a key's last day", () => {
  const days = lastDays([
    usage({ key: "key_a", day: "2026-11-03" }),
    usage({ key: "key_a", day: "2026-11-12" }),
    usage({ key: null, day: "2026-11-14" }),
    usage({ key: "key_b", day: "2026-10-01" }),
  ]);
  assert.deepEqual(
    [...days],
    [
      ["key_a", "2026-11-12"],
      ["key_b", "2026-10-01"],
    ],
  );
});

test("days of a form", () => {
  assert.equal(secondsOf(""), null);
  assert.equal(secondsOf("2026-11-18"), Date.UTC(2026, 10, 18) / 1000);
});

test("a tenant has an address", () => {
  assert.deepEqual(parseRoute(pathOf("tenants", "acme.one")), { view: "tenants", id: "acme.one" });
  assert.deepEqual(parseRoute("#/tenants"), { view: "tenants", id: null });
});
