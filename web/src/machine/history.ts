import { add, Columns, difference, percentile } from "./figures.ts";
import type { Counters, Look, MachineModel, Step } from "./types.ts";

const kMostRows = 600; // five minutes of two looks a second
const kWindowMs = 20_000; // of the percentiles: fewer requests would make them jump
const kRateLooks = 4; // rates are those of two seconds
const kMostSteps = 2000;

const names = [
  "prefill",
  "decode",
  "ttft50",
  "ttft95",
  "ttft99",
  "itl50",
  "itl95",
  "itl99",
  "goodput",
  "running",
  "waiting",
  "lobby",
  "rows",
  "used",
  "cached",
  "free",
  "hits",
  "preemptions",
  "refusals",
] as const;

/** A step with the time at which it began, in seconds since the epoch, and the model that it was of. */
export interface TimedStep extends Step {
  model: string;
  at: number;
}

interface Sums {
  at: number;
  counters: Counters;
  ttft: number[];
  itl: number[];
  refusals: number;
}

const none: Counters = {
  steps: 0,
  prefill_tokens: 0,
  decode_tokens: 0,
  cached_tokens: 0,
  output_tokens: 0,
  preemptions: 0,
  finished: 0,
  failed: 0,
  aborted: 0,
  step_s: 0,
};

function sumOf(models: MachineModel[]): Counters {
  const sum = { ...none };
  for (const model of models)
    for (const name of Object.keys(sum) as (keyof Counters)[]) sum[name] += model.counters?.[name] ?? 0;
  return sum;
}

function worst(models: MachineModel[]): number | null {
  const ratios = models
    .flatMap((model) => Object.values(model.goodput ?? {}))
    .filter((ratio) => ratio !== null);
  return ratios.length ? Math.min(...ratios) * 100 : null;
}

const kQueue = "queue ";

// Who waits, by priority, in columns of their own.
function queueOf(models: MachineModel[]): Record<string, number> {
  const sum: Record<string, number> = {};
  for (const model of models)
    for (const [priority, count] of Object.entries(model.queue ?? {}))
      sum[kQueue + priority] = (sum[kQueue + priority] ?? 0) + count;
  return sum;
}

/** What the charts show, from one look after another. */
export class History {
  readonly rows = new Columns(names, kMostRows);
  steps: TimedStep[] = [];
  private latest: Sums[] = []; // of the percentiles' window, the newest last

  private readonly bounds: number[];

  constructor(bounds: number[]) {
    this.bounds = bounds;
  }

  /** The priorities that anybody may wait with, the highest first. */
  priorities(): { name: string; priority: number }[] {
    return Object.keys(this.rows.columns)
      .filter((name) => name.startsWith(kQueue))
      .map((name) => ({ name, priority: Number(name.slice(kQueue.length)) }))
      .sort((a, b) => b.priority - a.priority);
  }

  /** `chosen` is the model that is shown; empty: all together. */
  push(look: Look, chosen: string): void {
    const models = look.models.filter((model) => !chosen || model.name === chosen);
    const at = look.at_ms / 1000;
    const counters = sumOf(models);
    const ttft = models.reduce<number[]>((sum, model) => add(sum, model.ttft), []);
    const itl = models.reduce<number[]>((sum, model) => add(sum, model.itl), []);
    const refusals = Object.values(look.refusals).reduce((sum, count) => sum + count, 0);
    const before = this.latest.at(-1);
    this.latest = [...this.latest, { at, counters, ttft, itl, refusals }].slice(-(kWindowMs / 500));
    this.keepSteps(look, models);
    if (!before || at <= before.at) return;
    this.rows.push(at, {
      ...this.rates(),
      ...this.percentiles(),
      ...this.levels(models),
      ...queueOf(models),
      goodput: worst(models),
      lobby: look.lobby,
      refusals: Math.max(0, refusals - before.refusals),
    });
  }

  private rates(): Record<string, number | null> {
    const now = this.latest.at(-1)!;
    const before = this.latest.at(-1 - kRateLooks) ?? this.latest[0]!;
    const seconds = now.at - before.at;
    const since = (name: keyof Counters) => Math.max(0, now.counters[name] - before.counters[name]);
    const computed = since("prefill_tokens");
    const cached = since("cached_tokens");
    const steps = since("steps");
    return {
      prefill: computed / seconds,
      decode: since("decode_tokens") / seconds,
      rows: steps > 0 ? (computed + since("decode_tokens")) / steps : null,
      hits: computed + cached > 0 ? (100 * cached) / (computed + cached) : null,
      preemptions: since("preemptions"),
    };
  }

  private percentiles(): Record<string, number | null> {
    const first = this.latest[0]!;
    const last = this.latest.at(-1)!;
    const ttft = difference(last.ttft, first.ttft);
    const itl = difference(last.itl, first.itl);
    const of = (counts: number[], p: number) => percentile(this.bounds, counts, p);
    return {
      ttft50: of(ttft, 0.5),
      ttft95: of(ttft, 0.95),
      ttft99: of(ttft, 0.99),
      itl50: of(itl, 0.5),
      itl95: of(itl, 0.95),
      itl99: of(itl, 0.99),
    };
  }

  private levels(models: MachineModel[]): Record<string, number> {
    const level = { running: 0, waiting: 0, used: 0, cached: 0, free: 0 };
    for (const { report } of models) {
      if (!report) continue;
      level.running += report.running;
      level.waiting += report.waiting;
      level.cached += report.cached_blocks;
      level.free += report.free_blocks;
      level.used += report.blocks - report.cached_blocks - report.free_blocks;
    }
    return level;
  }

  private keepSteps(look: Look, models: MachineModel[]): void {
    for (const model of models)
      for (const step of model.steps ?? [])
        this.steps.push({ ...step, model: model.name, at: (look.at_ms - step.ago_ms) / 1000 });
    if (this.steps.length > kMostSteps) this.steps = this.steps.slice(-kMostSteps);
  }
}
