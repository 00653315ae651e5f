import type { Key, Limit, Tier, Usage } from "./types.ts";

/** The limits that a tier may have, in the order in which they are shown. */
export const limitNames: [string, string][] = [
  ["requests_per_minute", "requests a minute"],
  ["tokens_per_minute", "tokens a minute"],
  ["max_concurrent", "at once"],
  ["tokens_per_day", "tokens a day"],
  ["tokens_per_month", "tokens a month"],
];

export function number(value: number): string {
  return value.toLocaleString("en");
}

/** "60 requests a minute, 8 at once, context 32,768"; what a tier allows, in words. */
export function tierText(tier: Tier): string {
  const parts = limitNames
    .filter(([name]) => typeof tier[name] === "number")
    .map(([name, words]) => `${number(tier[name] as number)} ${words}`);
  if (tier.max_context) parts.push(`context ${number(tier.max_context)}`);
  return parts.length > 0 ? parts.join(", ") : "no limits";
}

export function modelsText(tier: Tier): string {
  return tier.models ? tier.models.join(", ") : "all models";
}

/** The limit of which most is used, as "tokens a minute 34 %"; null where there is none. */
export function fullestLimit(limits: Record<string, Limit>): string | null {
  let best: { words: string; part: number } | null = null;
  for (const [name, words] of limitNames) {
    const one = limits[name];
    if (!one) continue;
    const part = one.used / one.limit;
    if (!best || part > best.part) best = { words, part };
  }
  return best && `${best.words} ${Math.round(100 * best.part)} %`;
}

export function costText(cost: number | null, currency: string | null): string {
  if (cost === null) return "–";
  const text = cost.toFixed(6).replace(/(\.\d\d\d*?)0+$/, "$1");
  return currency ? `${text} ${currency}` : text;
}

/** The last day on which each key was used, by its id. */
export function lastDays(rows: Usage[]): Map<string, string> {
  const days = new Map<string, string>();
  for (const { key, day } of rows) {
    if (!key || !day) continue;
    const known = days.get(key);
    if (!known || known < day) days.set(key, day);
  }
  return days;
}

/** Sums of rows; costs by currency, since those of two are never added. */
export function totalOf(rows: Usage[]): { requests: number; input: number; output: number; costs: string } {
  const costs = new Map<string, number>();
  let [requests, input, output] = [0, 0, 0];
  for (const row of rows) {
    requests += row.requests;
    input += row.prompt_tokens;
    output += row.completion_tokens;
    if (row.cost !== null) costs.set(row.currency ?? "", (costs.get(row.currency ?? "") ?? 0) + row.cost);
  }
  const texts = [...costs].map(([currency, cost]) => costText(cost, currency || null));
  return { requests, input, output, costs: texts.join(" + ") || "–" };
}

export function dateText(seconds: number): string {
  return new Date(seconds * 1000).toISOString().slice(0, 10);
}

/** Seconds since the epoch of the beginning of a day that a form gave; null where it gave none. */
export function secondsOf(day: string): number | null {
  const ms = Date.parse(`${day}T00:00:00Z`);
  return Number.isNaN(ms) ? null : Math.floor(ms / 1000);
}

/** What a key looks like from outside: the beginning that all have, and its last characters. */
export function keyText(key: Key): string {
  return `kv-…${key.hint}`;
}
