/**
 * The value below which the part `p` of the observations lies, by the counts of a histogram's ranges. Inside a
 * range it is interpolated. Null where nothing was observed.
 */
export function percentile(bounds: number[], counts: number[], p: number): number | null {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  let left = p * total;
  for (const [at, count] of counts.entries()) {
    if (count >= left && count > 0) {
      const low = at === 0 ? 0 : bounds[at - 1]!;
      const high = bounds[at] ?? low;
      return low + (high - low) * (left / count);
    }
    left -= count;
  }
  return bounds.at(-1) ?? null;
}

/** What was counted between two looks at counters that only grow. A restart counts from 0. */
export function difference(now: number[], before: number[] | undefined): number[] {
  if (!before || before.length !== now.length) return now.map(() => 0);
  const hasRestarted = now.some((count, at) => count < before[at]!);
  return hasRestarted ? now : now.map((count, at) => count - before[at]!);
}

export function add(a: number[], b: number[] | undefined): number[] {
  if (!b) return a;
  return b.map((count, at) => count + (a[at] ?? 0));
}

/** Columns of numbers over time, of which the oldest go when there are too many. */
export class Columns {
  readonly times: number[] = [];
  readonly columns: Record<string, (number | null)[]>;

  private readonly names: readonly string[];
  private readonly most: number;
  private age = 0; // rows that are gone

  constructor(names: readonly string[], most: number) {
    this.names = names;
    this.most = most;
    this.columns = Object.fromEntries(names.map((name) => [name, []]));
  }

  /** A name that is new has a column from here on, which is empty so far. */
  push(time: number, row: Record<string, number | null>): void {
    for (const name of Object.keys(row)) this.columns[name] ??= this.times.map(() => null);
    this.times.push(time);
    for (const [name, column] of Object.entries(this.columns)) column.push(row[name] ?? null);
    if (this.times.length <= this.most) return;
    this.times.shift();
    for (const column of Object.values(this.columns)) column.shift();
    this.age += 1;
    if (this.age % this.most === 0) this.forget();
  }

  // Drops columns of names that came later and have had no value for the whole time.
  private forget(): void {
    for (const [name, column] of Object.entries(this.columns))
      if (!this.names.includes(name) && column.every((value) => value === null)) delete this.columns[name];
  }
}

export function compact(value: number): string {
  if (value >= 1e6) return `${(value / 1e6).toFixed(1)}M`;
  if (value >= 1e4) return `${(value / 1e3).toFixed(1)}k`;
  if (value >= 100 || Number.isInteger(value)) return value.toFixed(0);
  return value.toFixed(value < 10 ? 1 : 0);
}

export function duration(seconds: number | null): string {
  if (seconds === null) return "–";
  if (seconds === 0) return "0";
  if (seconds < 0.01) return `${(seconds * 1000).toFixed(1)} ms`;
  if (seconds < 1) return `${(seconds * 1000).toFixed(0)} ms`;
  return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
}
