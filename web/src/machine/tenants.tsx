import { useEffect, useState } from "preact/hooks";
import { get, keys } from "../api/client.ts";
import type { List } from "../api/types.ts";
import { type Column, DataTable } from "./data_table.tsx";

const kTenantColumns: Column[] = [
  { name: "Tenant" },
  { name: "Tier" },
  { name: "Keys" },
  { name: "Requests", kind: "number" },
  { name: "Tokens in", kind: "number" },
  { name: "Tokens out", kind: "number" },
  { name: "Cost", kind: "number" },
];

interface Tenant {
  id: string;
  tier: string;
}
interface Key {
  id: string;
  tenant: string;
  name: string;
  scope: string;
  hint: string;
  status: string;
}
interface Usage {
  tenant: string;
  requests: number;
  prompt_tokens: number;
  completion_tokens: number;
  cost: number | null;
  currency: string | null;
}
interface Everything {
  tenants: Tenant[];
  keys: Key[];
  usage: Usage[];
}

async function loadAll(): Promise<Everything> {
  const kind = "admin" as const;
  const [tenants, all, usage] = await Promise.all([
    get<List<Tenant>>("/v1/admin/tenants?limit=100", { kind }),
    get<List<Key>>("/v1/admin/keys?limit=100", { kind }),
    get<List<Usage>>("/v1/admin/usage?group_by=tenant", { kind }),
  ]);
  return { tenants: tenants.data, keys: all.data, usage: usage.data };
}

function Row({ tenant, keys: all, usage }: { tenant: Tenant; keys: Key[]; usage: Usage | undefined }) {
  const number = (value: number | undefined) => (value === undefined ? "–" : value.toLocaleString("en"));
  return (
    <tr>
      <th scope="row">{tenant.id}</th>
      <td>{tenant.tier}</td>
      <td>
        {all.map((key) => (
          <span class={`state ${key.status}`} key={key.id} title={`${key.scope}, ${key.status}`}>
            {key.name || key.scope} …{key.hint}
          </span>
        ))}
        {all.length === 0 && "–"}
      </td>
      <td class="number">{number(usage?.requests)}</td>
      <td class="number">{number(usage?.prompt_tokens)}</td>
      <td class="number">{number(usage?.completion_tokens)}</td>
      <td class="number">{usage?.cost == null ? "–" : `${usage.cost.toFixed(4)} ${usage.currency ?? ""}`}</td>
    </tr>
  );
}

/** Tenants, their keys and what they used in 30 days. There for whoever has given an admin's key. */
export function Tenants() {
  const key = keys.admin.value;
  const [all, setAll] = useState<Everything | null>(null);
  useEffect(() => {
    if (key) loadAll().then(setAll, () => setAll(null));
  }, [key]);
  if (!key || !all) return null;
  return (
    <section class="card" aria-labelledby="tenants-title">
      <header>
        <h2 id="tenants-title">Tenants</h2>
        <p class="muted">use of the last 30 days</p>
      </header>
      <DataTable label="Table of tenants" columns={kTenantColumns}>
        {all.tenants.map((tenant) => (
          <Row
            key={tenant.id}
            tenant={tenant}
            keys={all.keys.filter((one) => one.tenant === tenant.id)}
            usage={all.usage.find((one) => one.tenant === tenant.id)}
          />
        ))}
      </DataTable>
    </section>
  );
}
