import { type Column, DataTable } from "./data_table.tsx";
import type { Look, Upstream, Worker } from "./types.ts";

const kWorkerColumns: Column[] = [
  { name: "Worker" },
  { name: "Pool" },
  { name: "State" },
  { name: "Running", kind: "number" },
  { name: "Waiting", kind: "number" },
  { name: "From here", kind: "number" },
  { name: "KV cache free" },
  { name: "Address" },
  { name: "Build" },
];

const kUpstreamColumns: Column[] = [
  { name: "Upstream" },
  { name: "Pool" },
  { name: "State" },
  { name: "Load", kind: "number" },
  { name: "From here", kind: "number" },
  { name: "At most", kind: "number" },
];

function FreeBlocks({ worker }: { worker: Worker }) {
  const report = worker.report;
  if (!report || report.blocks === 0) return <>–</>;
  const free = report.free_blocks + report.cached_blocks; // what is cached gives way
  return (
    <>
      <div class="share" role="img" aria-label={`${free} of ${report.blocks} blocks are free`}>
        <i style={{ width: `${(100 * free) / report.blocks}%`, background: "var(--cached)" }} />
      </div>
      <small class="muted">
        {free} of {report.blocks} blocks
      </small>
    </>
  );
}

function WorkerRow({ worker }: { worker: Worker }) {
  return (
    <tr data-worker={worker.id}>
      <th scope="row">{worker.id || worker.address}</th>
      <td>{worker.model || "–"}</td>
      <td>
        <span class={`state ${worker.state}`}>{worker.state}</span>
        {worker.reason && <small class="muted"> {worker.reason}</small>}
      </td>
      <td class="number">{worker.report?.running ?? "–"}</td>
      <td class="number">{worker.report?.waiting ?? "–"}</td>
      <td class="number">{worker.leases ?? "–"}</td>
      <td class="kv">
        <FreeBlocks worker={worker} />
      </td>
      <td>
        <code>{worker.address}</code>
      </td>
      <td>{worker.build || "–"}</td>
    </tr>
  );
}

function UpstreamRow({ upstream }: { upstream: Upstream }) {
  return (
    <tr data-upstream={upstream.label}>
      <th scope="row">{upstream.label}</th>
      <td>{upstream.model}</td>
      <td>
        <span class={`state ${upstream.state}`}>{upstream.state}</span>
      </td>
      <td class="number">{upstream.load}</td>
      <td class="number">{upstream.in_flight}</td>
      <td class="number">{upstream.most}</td>
    </tr>
  );
}

/** The workers and the servers elsewhere that answer for this one; nothing where there are none. */
export function Fleet({ look: { workers, upstreams } }: { look: Look }) {
  if (workers.length + upstreams.length === 0) return null;
  const ready = workers.filter(({ state }) => state === "ready").length;
  return (
    <section class="card" aria-labelledby="fleet-title">
      <header>
        <h2 id="fleet-title">Fleet</h2>
        {workers.length > 0 && (
          <p class="muted">
            {ready} of {workers.length} workers ready
          </p>
        )}
      </header>
      {workers.length > 0 && (
        <DataTable label="Table of workers" columns={kWorkerColumns}>
          {workers.map((worker) => (
            <WorkerRow key={worker.id || worker.address} worker={worker} />
          ))}
        </DataTable>
      )}
      {upstreams.length > 0 && (
        <DataTable label="Table of upstreams" columns={kUpstreamColumns}>
          {upstreams.map((upstream) => (
            <UpstreamRow key={upstream.label} upstream={upstream} />
          ))}
        </DataTable>
      )}
    </section>
  );
}
