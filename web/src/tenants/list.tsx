import { type Column, DataTable } from "../machine/data_table.tsx";
import { pathOf } from "../ui/route.ts";
import { costText, fullestLimit, number } from "./figures.ts";
import type { Everything } from "./store.ts";
import type { Key, Tenant, Usage } from "./types.ts";

const kMostRows = 500;

const kColumns: Column[] = [
  { name: "Tenant" },
  { name: "Tier" },
  { name: "Keys", kind: "number" },
  { name: "Of its limits now" },
  { name: "Requests", kind: "number" },
  { name: "Tokens in", kind: "number" },
  { name: "Tokens out", kind: "number" },
  { name: "Cost", kind: "number" },
];

function costsOf(rows: Usage[]): string {
  const priced = rows.filter((row) => row.cost !== null);
  return priced.map((row) => costText(row.cost, row.currency)).join(" + ") || "–";
}

function Row({ tenant, keys, usage }: { tenant: Tenant; keys: Key[]; usage: Usage[] }) {
  const sum = (of: (row: Usage) => number) => number(usage.reduce((total, row) => total + of(row), 0));
  const active = keys.filter((key) => key.status === "active").length;
  return (
    <tr>
      <th scope="row">
        <a href={pathOf("tenants", tenant.id)}>{tenant.id}</a>
      </th>
      <td>{tenant.tier}</td>
      <td class="number">{active}</td>
      <td class="nowrap">{fullestLimit(tenant.limits) ?? "no limits"}</td>
      <td class="number">{sum((row) => row.requests)}</td>
      <td class="number">{sum((row) => row.prompt_tokens)}</td>
      <td class="number">{sum((row) => row.completion_tokens)}</td>
      <td class="number nowrap">{costsOf(usage)}</td>
    </tr>
  );
}

function byTenant<T extends { tenant?: string }>(items: T[]): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(item.tenant ?? "");
    if (group) group.push(item);
    else groups.set(item.tenant ?? "", [item]);
  }
  return groups;
}

/** The tenants with their limits and what they used in 30 days. Each leads to its own page. */
export function TenantTable({ all, words = "" }: { all: Everything; words?: string }) {
  const found = all.tenants.filter((one) => one.id.toLowerCase().includes(words.toLowerCase().trim()));
  const keys = byTenant(all.keys);
  const usage = byTenant(all.usage);
  return (
    <DataTable
      label="Table of tenants"
      columns={kColumns}
      after={
        <>
          {found.length === 0 && <p class="muted more">none</p>}
          {found.length > kMostRows && <p class="muted more">and {number(found.length - kMostRows)} more</p>}
        </>
      }
    >
      {found.slice(0, kMostRows).map((tenant) => (
        <Row
          key={tenant.id}
          tenant={tenant}
          keys={keys.get(tenant.id) ?? []}
          usage={usage.get(tenant.id) ?? []}
        />
      ))}
    </DataTable>
  );
}
