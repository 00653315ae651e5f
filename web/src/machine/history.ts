import { add, Columns, difference, percentile } from "./figures.ts";
import type { Counters, Look, MachineModel, Step } from "./types.ts";

const kMostRows = 600; // five minutes of two looks a second
const kWindowMs = 20_000; // of the percentiles: fewer requests would make them jump
const kRateLooks = 4; // rates are those of two seconds
const kMostSteps = 2000;
const kMostGroups = 8; // lines of one chart; what comes later is put together
const kOthers = "others";

const names = [
  "prefill",
  "decode",
  "ttft50",
  "ttft95",
  "ttft99",
  "itl50",
  "itl95",
  "itl99",
  "tpot50",
  "tpot95",
  "tpot99",
  "running",
  "waiting",
  "lobby",
  "rows",
  "used",
  "cached",
  "free",
  "hits",
  "preemptions",
] as const;

/** A step with the time at which it began, in seconds since the epoch, and the model that it was of. */
export interface TimedStep extends Step {
  model: string;
  lane: string; // who computed it: the model, and the worker of a fleet
  at: number;
}

interface Sums {
  at: number;
  counters: Counters;
  ttft: number[];
  tpot: number[];
  itl: number[];
  refusals: Record<string, number>;
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

/** What a chart has a line of for each: the beginnings of the columns' names. */
export const groups = { queue: "queue ", goodput: "goodput ", blocks: "blocks ", refusals: "refused " };

type Group = keyof typeof groups;

// The worst of the models, by class, in percent.
function goodputOf(models: MachineModel[]): Record<string, number> {
  const worst: Record<string, number> = {};
  for (const model of models)
    for (const [tier, ratio] of Object.entries(model.goodput ?? {}))
      if (ratio !== null) worst[tier] = Math.min(worst[tier] ?? 100, ratio * 100);
  return worst;
}

// Who waits, by priority.
function queueOf(models: MachineModel[]): Record<string, number> {
  const sum: Record<string, number> = {};
  for (const model of models)
    for (const [priority, count] of Object.entries(model.queue ?? {}))
      sum[priority] = (sum[priority] ?? 0) + count;
  return sum;
}

// Blocks that sequences hold, by tenant. Sequences that share a block count it each.
function blocksOf(models: MachineModel[]): Record<string, number> {
  const sum: Record<string, number> = {};
  for (const model of models)
    for (const { tenant, blocks } of model.sequences ?? []) sum[tenant] = (sum[tenant] ?? 0) + blocks;
  return sum;
}

function since(now: Record<string, number>, before: Record<string, number>): Record<string, number> {
  const grown: Record<string, number> = {};
  for (const [name, count] of Object.entries(now)) grown[name] = Math.max(0, count - (before[name] ?? 0));
  return grown;
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

  /** What a chart has lines for: the column and what it is of. */
  linesOf(group: Group): { name: string; of: string }[] {
    const beginning = groups[group];
    return Object.keys(this.rows.columns)
      .filter((name) => name.startsWith(beginning))
      .map((name) => ({ name, of: name.slice(beginning.length) }));
  }

  /** `chosen` is the model that is shown; empty: all together. */
  push(look: Look, chosen: string): void {
    const models = look.models.filter((model) => !chosen || model.name === chosen);
    const at = look.at_ms / 1000;
    const counters = sumOf(models);
    const ttft = models.reduce<number[]>((sum, model) => add(sum, model.ttft), []);
    const itl = models.reduce<number[]>((sum, model) => add(sum, model.itl), []);
    const tpot = models.reduce<number[]>((sum, model) => add(sum, model.tpot), []);
    const { refusals } = look;
    const before = this.latest.at(-1);
    this.latest = [...this.latest, { at, counters, ttft, tpot, itl, refusals }].slice(-(kWindowMs / 500));
    this.keepSteps(look, models);
    if (!before || at <= before.at) return;
    this.rows.push(at, {
      ...this.rates(),
      ...this.percentiles(),
      ...this.levels(models),
      ...this.grouped("queue", queueOf(models)),
      ...this.grouped("goodput", goodputOf(models)),
      ...this.grouped("blocks", blocksOf(models)),
      ...this.grouped("refusals", since(refusals, before.refusals)),
      lobby: look.lobby,
    });
  }

  // Columns of a group; a name for which there is no column left goes to the others, by its sum.
  private grouped(group: Group, values: Record<string, number>): Record<string, number> {
    const known = this.linesOf(group).map((line) => line.of);
    const row: Record<string, number> = {};
    for (const [name, value] of Object.entries(values)) {
      const isKnown = known.includes(name);
      if (!isKnown && value === 0 && group !== "queue" && group !== "goodput") continue;
      if (!isKnown && known.length < kMostGroups) known.push(name);
      const column = groups[group] + (known.includes(name) ? name : kOthers);
      row[column] = group === "goodput" ? Math.min(row[column] ?? 100, value) : (row[column] ?? 0) + value;
    }
    return row;
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
    const tpot = difference(last.tpot, first.tpot);
    const itl = difference(last.itl, first.itl);
    const of = (counts: number[], p: number) => percentile(this.bounds, counts, p);
    return {
      ttft50: of(ttft, 0.5),
      ttft95: of(ttft, 0.95),
      ttft99: of(ttft, 0.99),
      tpot50: of(tpot, 0.5),
      tpot95: of(tpot, 0.95),
      tpot99: of(tpot, 0.99),
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
    const told = models.flatMap((model) =>
      (model.steps ?? []).map((step) => ({
        ...step,
        model: model.name,
        lane: step.worker ? `${model.name} on ${step.worker}` : model.name,
        at: (look.at_ms - step.ago_ms) / 1000,
      })),
    );
    this.steps.push(...told.sort((a, b) => a.at - b.at));
    if (this.steps.length > kMostSteps) this.steps = this.steps.slice(-kMostSteps);
  }
}
