import assert from "node:assert/strict";
import { test } from "node:test";
import { Columns, compact, difference, duration, percentile } from "../src/machine/figures.ts";
import { History } from "../src/machine/history.ts";
import type { Look } from "../src/machine/types.ts";

test("percentiles lie inside their range", () => {
  assert.equal(percentile([1, 2, 4], [0, 0, 0, 0], 0.5), null);
  assert.equal(percentile([1, 2, 4], [0, 10, 0, 0], 0.5), 1.5);
  assert.equal(percentile([1, 2, 4], [5, 0, 5, 0], 0.95), 3.8);
  assert.equal(percentile([1, 2, 4], [0, 0, 0, 3], 0.5), 4);
});

test("counters that began anew", () => {
  assert.deepEqual(difference([3, 4], [1, 4]), [2, 0]);
  assert.deepEqual(difference([0, 1], [1, 4]), [0, 1]);
  assert.deepEqual(difference([3, 4], undefined), [0, 0]);
});

test("columns stay bounded", () => {
  const columns = new Columns(["a"], 3);
  for (let at = 0; at < 5; at++) columns.push(at, { a: at });
  assert.deepEqual(columns.times, [2, 3, 4]);
  assert.deepEqual(columns.columns.a, [2, 3, 4]);
});

test("short numbers", () => {
  assert.equal(compact(12_345), "12.3k");
  assert.equal(compact(7.25), "7.3");
  assert.equal(duration(0.0123), "12 ms");
  assert.equal(duration(null), "–");
});

function lookAt(ms: number, decode: number, ttft: number[]): Look {
  const counters = {
    steps: decode,
    prefill_tokens: 0,
    decode_tokens: decode,
    cached_tokens: 0,
    output_tokens: decode,
    preemptions: 0,
    finished: 0,
    failed: 0,
    aborted: 0,
    step_s: 0,
  };
  const step = {
    n: decode,
    ago_ms: 10,
    plan_ms: 0,
    run_ms: 5,
    commit_ms: 0,
    predicted_ms: 5,
    preempted: 0,
    other_rows: 0,
    slices: [],
  };
  const report = { blocks: 10, free_blocks: 4, cached_blocks: 3, running: 1, waiting: 2, progressing: true };
  return {
    at_ms: ms,
    workers: [],
    upstreams: [],
    model_memory: 0,
    lobby: 0,
    refusals: { queue_full: 1 },
    models: [
      {
        name: "m",
        state: "ready",
        report,
        counters,
        ttft,
        tpot: ttft,
        itl: ttft,
        queue: { "0": decode, "10": 2 },
        goodput: { free: 0.5 },
        steps: [step],
      },
    ],
  };
}

test("the queue has a column for each priority", () => {
  const history = new History([1, 2]);
  for (const at of [0, 1, 2]) history.push(lookAt(1000 + 500 * at, at, [0, 0, 0]), "");
  assert.deepEqual(
    history.linesOf("queue").map((line) => line.of),
    ["0", "10"],
  );
  assert.deepEqual(history.rows.columns["queue 0"], [1, 2]);
});

test("a column that comes later is empty before", () => {
  const columns = new Columns(["a"], 3);
  columns.push(0, { a: 1 });
  columns.push(1, { a: 2, b: 5 });
  assert.deepEqual(columns.columns.b, [null, 5]);
});

test("rates and levels come from one look after another", () => {
  const history = new History([1, 2]);
  history.push(lookAt(1000, 0, [0, 0, 0]), "");
  assert.equal(history.rows.times.length, 0);
  history.push(lookAt(1500, 20, [0, 4, 0]), "");
  const newest = (name: string) => history.rows.columns[name]!.at(-1);
  assert.equal(newest("decode"), 40);
  assert.equal(newest("rows"), 1);
  assert.equal(newest("used"), 3);
  assert.equal(newest("ttft50"), 1.5);
  assert.equal(newest("goodput free"), 50);
  assert.equal(newest("tpot50"), 1.5);
  assert.deepEqual(history.linesOf("refusals"), []); // none since the page was opened
  assert.deepEqual(
    history.steps.map((step) => step.at),
    [0.99, 1.49],
  );
  history.push(lookAt(2000, 20, [0, 4, 0]), "other");
  assert.equal(newest("running"), 0);
});

test("steps of several workers stand in the order of time, each in its worker's lane", () => {
  const history = new History([1, 2]);
  const look = lookAt(1000, 0, [0, 0, 0]);
  const [step] = look.models[0]!.steps!;
  const of = (worker: string, ago_ms: number) => ({ ...step!, worker, ago_ms });
  look.models[0]!.steps = [of("w1", 40), of("w1", 20), of("w2", 30), of("w2", 10)];
  history.push(look, "");
  assert.deepEqual(
    history.steps.map((one) => one.lane),
    ["m on w1", "m on w2", "m on w1", "m on w2"],
  );
});

test("refusals and blocks have a line for each of few names, and one for the others", () => {
  const history = new History([1, 2]);
  const names = Array.from({ length: 20 }, (_, at) => `tenant-${at}`);
  const look = (ms: number, refusals: Record<string, number>): Look => {
    const one = lookAt(ms, 0, [0, 0, 0]);
    const sequences = names.map((tenant) => ({ tenant, blocks: 2 }));
    return { ...one, refusals, models: [{ ...one.models[0]!, sequences } as Look["models"][0]] };
  };
  history.push(look(1000, { queue_full: 4 }), "");
  history.push(look(1500, { queue_full: 7, invalid_value: 1 }), "");
  const newest = (name: string) => history.rows.columns[name]!.at(-1);
  assert.equal(newest("refused queue_full"), 3);
  assert.equal(newest("refused invalid_value"), 1);
  assert.equal(history.linesOf("blocks").length, 9);
  assert.equal(newest("blocks tenant-0"), 2);
  assert.equal(newest("blocks others"), 24);
});

test("columns that have had no value for long are dropped, the named ones stay", () => {
  const columns = new Columns(["a"], 2);
  columns.push(0, { a: null, b: 1 });
  for (let at = 1; at < 8; at++) columns.push(at, { a: null });
  assert.deepEqual(Object.keys(columns.columns), ["a"]);
});
