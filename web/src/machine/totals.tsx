import { type Column, DataTable } from "./data_table.tsx";
import type { Look, Totals } from "./types.ts";

const kColumns: Column[] = [
  { name: "Model" },
  { name: "Requests", kind: "number" },
  { name: "Failed", kind: "number" },
  { name: "Given up", kind: "number" },
  { name: "Tokens in", kind: "number" },
  { name: "From the cache", kind: "number" },
  { name: "Tokens out", kind: "number" },
];

// The columns' counters, and what they are called in /metrics.
const kCounters: [keyof Totals, string][] = [
  ["completed", 'llm_requests_total{outcome="completed"}'],
  ["failed", 'llm_requests_total{outcome="failed"}'],
  ["aborted", 'llm_requests_total{outcome="aborted"}'],
  ["prompt_tokens", 'llm_tokens_total{kind="prompt"}'],
  ["cached_tokens", 'llm_tokens_total{kind="cached"}'],
  ["output_tokens", 'llm_tokens_total{kind="output"}'],
];

/** What the models have done since the server began: the counters of /metrics. */
export function SinceTheStart({ look }: { look: Look }) {
  const rows = look.models.flatMap(({ name, totals }) => (totals ? [{ name, totals }] : []));
  if (rows.length === 0) return null;
  return (
    <section class="card" aria-labelledby="totals-title">
      <header>
        <h2 id="totals-title">Since the start</h2>
        <p class="muted">the same counters as in /metrics; each cell tells its name there</p>
      </header>
      <DataTable label="Table of totals" columns={kColumns}>
        {rows.map(({ name, totals }) => (
          <tr key={name} data-model={name}>
            <th scope="row">{name}</th>
            {kCounters.map(([counter, metric]) => (
              <td key={counter} class="number" title={metric} data-counter={counter}>
                {totals[counter].toLocaleString("en")}
              </td>
            ))}
          </tr>
        ))}
      </DataTable>
    </section>
  );
}
