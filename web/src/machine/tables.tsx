import { shortTime } from "../chat/text.ts";
import { colourOf, nameOf } from "./colours.ts";
import { type Column, DataTable } from "./data_table.tsx";
import { cancel } from "./store.ts";
import type { Look, Sequence } from "./types.ts";

const kMostRows = 60;

const kRequestColumns: Column[] = [
  { name: "Request" },
  { name: "Tenant" },
  { name: "Model" },
  { name: "State" },
  { name: "Progress" },
  { name: "Prompt", kind: "number" },
  { name: "Blocks", kind: "number" },
  { name: "Class", kind: "number" },
  { name: "Age", kind: "number" },
  { name: "Cancel", kind: "hidden" },
];

function Swatch({ tenant }: { tenant: string }) {
  return (
    <svg class="swatch" viewBox="0 0 8 8" aria-hidden="true">
      <rect width="8" height="8" rx="2" fill={colourOf(tenant)} />
    </svg>
  );
}

function progressOf(one: Sequence): string {
  if (one.output > 0) return `${one.output} tokens written`;
  if (one.state === "waiting") return "in the queue";
  return `prompt ${Math.min(one.computed, one.prompt)} of ${one.prompt}`;
}

function RequestRow({ one, model }: { one: Sequence; model: string }) {
  return (
    <tr>
      <td>
        <code title={one.id}>{one.id.slice(0, 18)}</code>
      </td>
      <td class="nowrap">
        <Swatch tenant={one.tenant} /> {nameOf(one.tenant)}
      </td>
      <td>{model}</td>
      <td>
        <span class={`state ${one.state}`}>{one.state}</span>
      </td>
      <td class="nowrap">{progressOf(one)}</td>
      <td class="number">
        {one.prompt}
        {one.cached > 0 && <span class="muted"> ({one.cached} cached)</span>}
      </td>
      <td class="number">{one.blocks}</td>
      <td class="number">{one.priority}</td>
      <td class="number nowrap">{shortTime(one.age_ms)}</td>
      <td>
        <button type="button" class="quiet small" onClick={() => void cancel(one.id)}>
          Cancel<span class="hidden"> {one.id}</span>
        </button>
      </td>
    </tr>
  );
}

// "class 10: 3, class 0: 12", the highest first; empty where nobody waits.
function queueByClass(all: { one: Sequence }[]): string {
  const counts = new Map<number, number>();
  for (const { one } of all)
    if (one.state === "waiting") counts.set(one.priority, (counts.get(one.priority) ?? 0) + 1);
  const sorted = [...counts].sort((a, b) => b[0] - a[0]);
  return sorted.map(([priority, count]) => `class ${priority}: ${count}`).join(", ");
}

export function Requests({ look }: { look: Look }) {
  const all = look.models.flatMap((model) =>
    (model.sequences ?? []).map((one) => ({ one, model: model.name })),
  );
  return (
    <section class="card" aria-labelledby="requests-title">
      <header>
        <h2 id="requests-title">Requests</h2>
        <p class="muted">
          {all.length === 0 ? "none at the moment" : `${all.length} running and waiting`}
          {queueByClass(all) && `; waiting by ${queueByClass(all)}`}
          {look.lobby > 0 && `, ${look.lobby} before the door`}
        </p>
      </header>
      {all.length > 0 && (
        <DataTable
          label="Table of requests"
          columns={kRequestColumns}
          after={all.length > kMostRows && <p class="muted more">and {all.length - kMostRows} more</p>}
        >
          {all.slice(0, kMostRows).map(({ one, model }, at) => (
            <RequestRow key={`${one.id}-${at}`} one={one} model={model} />
          ))}
        </DataTable>
      )}
    </section>
  );
}

export function Refusals({ look }: { look: Look }) {
  const all = Object.entries(look.refusals).sort((a, b) => b[1] - a[1]);
  if (all.length === 0) return null;
  return (
    <section class="card" aria-labelledby="refusals-title">
      <header>
        <h2 id="refusals-title">Refusals</h2>
        <p class="muted">since the server began, by reason</p>
      </header>
      <ul class="reasons">
        {all.map(([reason, count]) => (
          <li key={reason}>
            <code>{reason}</code>
            <b>{count.toLocaleString("en")}</b>
          </li>
        ))}
      </ul>
    </section>
  );
}
