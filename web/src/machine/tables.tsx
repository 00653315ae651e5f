import { shortTime } from "../chat/text.ts";
import { colourOf, nameOf } from "./colours.ts";
import { type Column, DataTable } from "./data_table.tsx";
import { cancel, constants } from "./store.ts";
import type { Look, MachineModel, Sequence } from "./types.ts";

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

const kModelColumns: Column[] = [
  { name: "Model" },
  { name: "State" },
  { name: "Context", kind: "number" },
  { name: "Running", kind: "number" },
  { name: "Waiting", kind: "number" },
  { name: "KV cache" },
  { name: "Goodput, 1 min", kind: "number" },
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

function Share({ part, colour, title }: { part: number; colour: string; title: string }) {
  return <i title={title} style={{ width: `${100 * part}%`, background: colour }} />;
}

/** The KV cache of a model: what each tenant holds, what is cached, and what is free. */
function KvBar({ model }: { model: MachineModel }) {
  const report = model.report!;
  const held = new Map<string, number>();
  for (const one of model.sequences ?? []) held.set(one.tenant, (held.get(one.tenant) ?? 0) + one.blocks);
  const all = Math.max(1, report.blocks);
  const used = report.blocks - report.free_blocks - report.cached_blocks;
  const tokens = constants.value?.block_tokens ?? 16;
  return (
    <>
      <div class="share" role="img" aria-label={`${used} of ${report.blocks} blocks are in use`}>
        {[...held].map(([tenant, blocks]) => (
          <Share
            key={tenant}
            part={Math.min(blocks, used) / all}
            colour={colourOf(tenant)}
            title={`${nameOf(tenant)}: ${blocks} blocks`}
          />
        ))}
        <Share
          part={report.cached_blocks / all}
          colour="var(--cached)"
          title={`${report.cached_blocks} blocks of reusable prefixes`}
        />
      </div>
      <small class="muted">
        {used} used, {report.cached_blocks} cached of {report.blocks} blocks of {tokens} tokens
      </small>
    </>
  );
}

function ModelRow({ model }: { model: MachineModel }) {
  const goodputs = Object.entries(model.goodput ?? {}).filter(([, ratio]) => ratio !== null);
  return (
    <tr>
      <th scope="row">{model.name}</th>
      <td>
        <span class={`state ${model.state}`}>{model.state}</span>
        {model.progress !== undefined && (
          <progress max={1} value={model.progress} aria-label={`Download of ${model.name}`} />
        )}
        {model.reason && <small class="muted"> {model.reason}</small>}
      </td>
      <td class="number">{model.context?.toLocaleString("en") ?? "–"}</td>
      <td class="number">{model.report?.running ?? "–"}</td>
      <td class="number">{model.report?.waiting ?? "–"}</td>
      <td class="kv">{model.report && model.report.blocks > 0 ? <KvBar model={model} /> : "–"}</td>
      <td class="number">
        {goodputs.length
          ? goodputs.map(([tier, ratio]) => `${tier} ${Math.round(ratio! * 100)} %`).join(", ")
          : "–"}
      </td>
    </tr>
  );
}

export function Models({ look }: { look: Look }) {
  return (
    <section class="card" aria-labelledby="models-title">
      <header>
        <h2 id="models-title">Models</h2>
      </header>
      <DataTable label="Table of models" columns={kModelColumns}>
        {look.models.map((model) => (
          <ModelRow key={model.name} model={model} />
        ))}
      </DataTable>
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
