import { useEffect } from "preact/hooks";
import { colourOf, nameOf } from "./colours.ts";
import { type Column, DataTable } from "./data_table.tsx";
import { busy, fetchLoadable, type Loadable, loadable, setModel, trouble } from "./loading.ts";
import { constants } from "./store.ts";
import type { Look, MachineModel } from "./types.ts";

const kModelColumns: Column[] = [
  { name: "Model" },
  { name: "State" },
  { name: "Memory", kind: "number" },
  { name: "Context", kind: "number" },
  { name: "Running", kind: "number" },
  { name: "Waiting", kind: "number" },
  { name: "KV cache" },
  { name: "Goodput, 1 min", kind: "number" },
  { name: "Load or unload", kind: "hidden" },
];

const kLoadableColumns: Column[] = [
  { name: "Model" },
  { name: "Files", kind: "number" },
  { name: "Here" },
  { name: "Description" },
  { name: "Load or pull", kind: "hidden" },
];

export function sizeText(bytes: number): string {
  const megabytes = bytes / (1 << 20);
  if (megabytes < 1) return "< 1 MiB";
  return megabytes < 1000 ? `${Math.round(megabytes)} MiB` : `${(megabytes / 1024).toFixed(1)} GiB`;
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

function Act({ word, model, does }: { word: string; model: string; does: "load" | "unload" | "pull" }) {
  return (
    <button
      type="button"
      class="quiet small"
      disabled={does !== "unload" && busy.value.has(model)}
      onClick={() => void setModel(model, does)}
    >
      {word}
      <span class="hidden"> {model}</span>
    </button>
  );
}

function ModelRow({ model }: { model: MachineModel }) {
  const goodputs = Object.entries(model.goodput ?? {}).filter(([, ratio]) => ratio !== null);
  return (
    <tr>
      <th scope="row">
        {model.name}
        {model.pinned && (
          <small class="muted" title="Named at the start: it leaves only when it is unloaded.">
            {" "}
            pinned
          </small>
        )}
      </th>
      <td>
        <span class={`state ${model.state}`}>{model.state}</span>
        {model.progress !== undefined && (
          <progress max={1} value={model.progress} aria-label={`Download of ${model.name}`} />
        )}
        {model.reason && <small class="muted"> {model.reason}</small>}
      </td>
      <td class="number nowrap">{model.memory ? sizeText(model.memory) : "–"}</td>
      <td class="number">{model.context?.toLocaleString("en") ?? "–"}</td>
      <td class="number">{model.report?.running ?? "–"}</td>
      <td class="number">{model.report?.waiting ?? "–"}</td>
      <td class="kv">{model.report && model.report.blocks > 0 ? <KvBar model={model} /> : "–"}</td>
      <td class="number">
        {goodputs.length
          ? goodputs.map(([tier, ratio]) => `${tier} ${Math.round(ratio! * 100)} %`).join(", ")
          : "–"}
      </td>
      <td class="nowrap">
        {model.pinned !== undefined && model.state === "failed" && (
          <Act word="Load again" model={model.name} does="load" />
        )}
        {model.pinned !== undefined && model.state !== "leaving" && model.state !== "restarting" && (
          <Act word={model.state === "failed" ? "Forget" : "Unload"} model={model.name} does="unload" />
        )}
      </td>
    </tr>
  );
}

function LoadableRow({ model }: { model: Loadable }) {
  return (
    <tr>
      <th scope="row">{model.id}</th>
      <td class="number nowrap">{sizeText(model.size_bytes)}</td>
      <td>{model.local ? "yes" : "no"}</td>
      <td class="muted">{model.description ?? ""}</td>
      <td class="nowrap">
        {!model.local && <Act word="Pull" model={model.id} does="pull" />}
        <Act word={model.local ? "Load" : "Pull and load"} model={model.id} does="load" />
      </td>
    </tr>
  );
}

/** The models that are in memory or on their way, and those that could be. */
export function Models({ look }: { look: Look }) {
  const names = look.models.map((model) => `${model.name} ${model.state}`).join();
  useEffect(() => void fetchLoadable(), [names]);
  const used = look.models.reduce((sum, model) => sum + (model.memory ?? 0), 0);
  // Where workers compute the models, none is loaded here.
  const others =
    look.workers.length > 0
      ? []
      : loadable.value.filter(({ id }) => !look.models.some((model) => model.name === id));
  return (
    <section class="card" aria-labelledby="models-title">
      <header>
        <h2 id="models-title">Models</h2>
        {look.model_memory > 0 && (
          <p class="muted">
            {sizeText(used)} of {sizeText(look.model_memory)}
          </p>
        )}
      </header>
      {trouble.value && (
        <p class="error-text" role="alert">
          {trouble.value}
        </p>
      )}
      <DataTable label="Table of models" columns={kModelColumns}>
        {look.models.map((model) => (
          <ModelRow key={model.name} model={model} />
        ))}
      </DataTable>
      {others.length > 0 && (
        <details class="loadable">
          <summary>{others.length} more could be loaded</summary>
          <DataTable label="Table of models that could be loaded" columns={kLoadableColumns}>
            {others.map((model) => (
              <LoadableRow key={model.id} model={model} />
            ))}
          </DataTable>
        </details>
      )}
    </section>
  );
}
