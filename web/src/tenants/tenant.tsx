import { useEffect, useState } from "preact/hooks";
import { type Column, DataTable } from "../machine/data_table.tsx";
import { goTo, pathOf } from "../ui/route.ts";
import { costText, dateText, keyText, limitNames, modelsText, number, totalOf } from "./figures.ts";
import { Confirm, KeyForm, NewKey, TenantForm } from "./forms.tsx";
import { all, deleteTenant, details, loadDetails, lookAgain, revokeKey, rotateKey } from "./store.ts";
import type { Key, Tenant, Usage } from "./types.ts";

const kLookMs = 2000; // limits
const kLooksOfUsage = 3; // usage after so many of them

const kKeyColumns: Column[] = [
  { name: "Key" },
  { name: "Name" },
  { name: "Scope" },
  { name: "State" },
  { name: "Created" },
  { name: "Last used" },
  { name: "Expires" },
  { name: "What to do", kind: "hidden" },
];

const kUsageColumns: Column[] = [
  { name: "Day" },
  { name: "Model" },
  { name: "Requests", kind: "number" },
  { name: "Failed", kind: "number" },
  { name: "Tokens in", kind: "number" },
  { name: "of them cached", kind: "number" },
  { name: "Tokens out", kind: "number" },
  { name: "Cost", kind: "number" },
];

/** What a dialog is open for. */
type Doing =
  | { what: "change" | "delete" | "create key" }
  | { what: "rotate" | "revoke" | "show"; key: Key }
  | null;

// The number beside it says the same.
function Meter({ used, limit }: { used: number; limit: number }) {
  return (
    <div class={`meter ${used > 0.9 * limit ? "full" : ""}`} aria-hidden="true">
      <i style={{ width: `${Math.min(100, (100 * used) / limit)}%` }} />
    </div>
  );
}

function Limits({ tenant }: { tenant: Tenant }) {
  const shown = limitNames.filter(([name]) => tenant.limits[name]);
  if (shown.length === 0) return <p class="muted">The tier {tenant.tier} has no limits.</p>;
  return (
    <ul class="limits">
      {shown.map(([name, words]) => {
        const { limit, used } = tenant.limits[name]!;
        return (
          <li key={name}>
            <span class="muted">{words}</span>
            <Meter used={used} limit={limit} />
            <span>
              <b>{number(used)}</b> of {number(limit)}
            </span>
          </li>
        );
      })}
    </ul>
  );
}

function KeyRow({ one, day, onDo }: { one: Key; day?: string; onDo: (doing: Doing) => void }) {
  const label = one.name || keyText(one);
  return (
    <tr>
      <td class="nowrap">
        <code title={one.id}>{keyText(one)}</code>
      </td>
      <td>{one.name || "–"}</td>
      <td>{one.scope}</td>
      <td>
        <span class={`state ${one.status}`}>{one.status}</span>
      </td>
      <td class="nowrap">{dateText(one.created_at)}</td>
      <td class="nowrap">{day ?? "–"}</td>
      <td class="nowrap">{one.expires_at === null ? "never" : dateText(one.expires_at)}</td>
      <td class="nowrap">
        {one.status === "active" && (
          <>
            <button type="button" class="quiet small" onClick={() => onDo({ what: "rotate", key: one })}>
              Rotate<span class="hidden"> {label}</span>
            </button>
            <button type="button" class="quiet small" onClick={() => onDo({ what: "revoke", key: one })}>
              Revoke<span class="hidden"> {label}</span>
            </button>
          </>
        )}
      </td>
    </tr>
  );
}

function Keys({ tenant, onDo }: { tenant: Tenant; onDo: (doing: Doing) => void }) {
  const [showsOld, setShowsOld] = useState(false);
  const keys = details.value?.keys ?? [];
  const active = keys.filter((one) => one.status === "active");
  const numOld = keys.length - active.length;
  return (
    <section class="card" aria-labelledby="keys-title">
      <header>
        <h2 id="keys-title">Keys</h2>
        <p class="muted">use is counted by the day</p>
        <span class="grow" />
        <button type="button" class="primary small" onClick={() => onDo({ what: "create key" })}>
          New key
        </button>
      </header>
      {keys.length === 0 ? (
        <p class="muted">{tenant.id} has no key yet, so nobody can ask in its name.</p>
      ) : (
        <DataTable
          label="Table of keys"
          columns={kKeyColumns}
          after={
            numOld > 0 && (
              <button type="button" class="quiet small" onClick={() => setShowsOld(!showsOld)}>
                {showsOld ? "Hide" : "Show"} {numOld} revoked and expired
              </button>
            )
          }
        >
          {(showsOld ? keys : active).map((one) => (
            <KeyRow key={one.id} one={one} day={details.value?.lastUsed.get(one.id)} onDo={onDo} />
          ))}
        </DataTable>
      )}
    </section>
  );
}

function UsageRow({ row }: { row: Usage }) {
  return (
    <tr>
      <td class="nowrap">{row.day}</td>
      <td>{row.model}</td>
      <td class="number">{number(row.requests)}</td>
      <td class="number">{number(row.failed)}</td>
      <td class="number">{number(row.prompt_tokens)}</td>
      <td class="number">{number(row.cached_tokens)}</td>
      <td class="number">{number(row.completion_tokens)}</td>
      <td class="number nowrap">{costText(row.cost, row.currency)}</td>
    </tr>
  );
}

function UsageTable() {
  const rows = [...(details.value?.usage ?? [])].sort((a, b) => (b.day ?? "").localeCompare(a.day ?? ""));
  const total = totalOf(rows);
  return (
    <section class="card" aria-labelledby="usage-title">
      <header>
        <h2 id="usage-title">Usage</h2>
        <p class="muted">
          {rows.length === 0
            ? "none in the last 30 days"
            : `last 30 days: ${number(total.requests)} requests, ${number(total.input)} tokens in, ${number(total.output)} out, cost ${total.costs}`}
        </p>
      </header>
      {rows.length > 0 && (
        <DataTable label="Table of usage" columns={kUsageColumns}>
          {rows.map((row) => (
            <UsageRow key={`${row.day} ${row.model} ${row.currency}`} row={row} />
          ))}
        </DataTable>
      )}
    </section>
  );
}

function Dialogs({ tenant, doing, onDo }: { tenant: Tenant; doing: Doing; onDo: (doing: Doing) => void }) {
  const close = () => onDo(null);
  if (doing === null) return null;
  if (doing.what === "change") return <TenantForm tenant={tenant} onClose={close} onDone={close} />;
  if (doing.what === "create key")
    return <KeyForm tenant={tenant.id} onClose={close} onMade={(key) => onDo({ what: "show", key })} />;
  if (doing.what === "delete")
    return (
      <Confirm
        title={`Delete ${tenant.id}`}
        action="Delete"
        word={tenant.id}
        onClose={close}
        onConfirm={async () => {
          await deleteTenant(tenant.id);
          goTo("tenants");
        }}
      >
        Its keys, conversations, files, batches and stored answers go with it. This cannot be taken back.
      </Confirm>
    );
  if (!("key" in doing)) return null;
  const { key } = doing;
  const label = `${keyText(key)}${key.name ? ` (${key.name})` : ""}`;
  if (doing.what === "show") return <NewKey made={key} onClose={close} />;
  if (doing.what === "rotate")
    return (
      <Confirm
        title="Rotate a key"
        action="Rotate"
        onClose={close}
        onConfirm={async () => onDo({ what: "show", key: await rotateKey(key) })}
      >
        {label} ends at once, with what runs by it, and another key of the same name and scope takes its
        place.
      </Confirm>
    );
  return (
    <Confirm
      title="Revoke a key"
      action="Revoke"
      onClose={close}
      onConfirm={async () => {
        await revokeKey(key);
        close();
      }}
    >
      {label} ends within a second, with what runs by it. This cannot be taken back.
    </Confirm>
  );
}

/** One tenant: its limits and their use at this moment, its keys, and what it used by day and model. */
export function TenantPage({ tenant }: { tenant: Tenant }) {
  const [doing, setDoing] = useState<Doing>(null);
  useEffect(() => {
    details.value = null;
    void loadDetails(tenant.id);
    let looks = 0;
    const timer = setInterval(() => {
      if (document.hidden) return;
      void lookAgain(tenant.id);
      looks += 1;
      if (looks % kLooksOfUsage === 0) void loadDetails(tenant.id);
    }, kLookMs);
    return () => clearInterval(timer);
  }, [tenant.id]);
  const tier = all.value?.tiers.find((one) => one.id === tenant.tier);
  return (
    <>
      <header class="head">
        <a class="back" href={pathOf("tenants")}>
          Tenants
        </a>
        <h1>{tenant.id}</h1>
        <span class="state">{tenant.tier}</span>
        <span class="grow" />
        <button type="button" class="quiet" onClick={() => setDoing({ what: "change" })}>
          Change
        </button>
        <button type="button" class="quiet" onClick={() => setDoing({ what: "delete" })}>
          Delete
        </button>
      </header>
      <section class="card" aria-labelledby="limits-title">
        <header>
          <h2 id="limits-title">Limits</h2>
          <p class="muted">
            {tier
              ? `weight ${tier.weight}, priority ${tier.priority}; ${modelsText(tier)}`
              : "its tier is not in the settings any more, so free holds"}
          </p>
        </header>
        <Limits tenant={tenant} />
        {tenant.system_prompt && (
          <details class="fold">
            <summary>System prompt</summary>
            <pre class="inside" tabIndex={0}>
              {tenant.system_prompt}
            </pre>
          </details>
        )}
      </section>
      <Keys tenant={tenant} onDo={setDoing} />
      <UsageTable />
      <Dialogs tenant={tenant} doing={doing} onDo={setDoing} />
    </>
  );
}
