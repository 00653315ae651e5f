import { signal } from "@preact/signals";
import { ApiError, get, keys as known } from "../api/client.ts";
import type { List } from "../api/types.ts";
import { lastDays } from "./figures.ts";
import type { Key, Scope, Tenant, Tier, Usage } from "./types.ts";

/** Everything that the list of tenants shows. */
export interface Everything {
  tenants: Tenant[];
  tiers: Tier[];
  usage: Usage[]; // by tenant
  keys: Key[];
}

/** What is shown of one tenant. */
export interface Details {
  keys: Key[];
  usage: Usage[]; // by day and model
  lastUsed: Map<string, string>; // a key's last day
}

/** `open`: the server has no keys, so nobody is an admin. `refused`: no admin's key was given. */
export type Access = "looking" | "open" | "refused" | "in";

const kMostItems = 2000;
const kDaysOfKeys = 90;
const kind = "admin" as const;

export const access = signal<Access>("looking");
export const all = signal<Everything | null>(null);
export const details = signal<Details | null>(null);
export const trouble = signal<string | null>(null);

async function everyPage<T>(path: string): Promise<T[]> {
  const items: T[] = [];
  let after = "";
  do {
    const page = await get<List<T>>(`${path}${path.includes("?") ? "&" : "?"}limit=100${after}`, { kind });
    items.push(...page.data);
    after = page.has_more && page.last_id ? `&after=${encodeURIComponent(page.last_id)}` : "";
  } while (after && items.length < kMostItems);
  return items;
}

const usageBy = async (groups: string, more = ""): Promise<Usage[]> =>
  (await get<{ data: Usage[] }>(`/v1/admin/usage?group_by=${groups}&limit=10000${more}`, { kind })).data;

/** Whether the server asks for keys at all. */
async function needsKeys(): Promise<boolean> {
  const response = await fetch("/v1/models", { cache: "no-store" });
  return response.status === 401;
}

function tell(error: unknown): void {
  const lacksKey = error instanceof ApiError && (error.status === 401 || error.status === 403);
  if (lacksKey) access.value = "refused";
  trouble.value = error instanceof Error ? error.message : String(error);
}

/** Reads the list. Asks for an admin's key where there is none yet. */
export async function loadAll(): Promise<void> {
  try {
    if (!known.admin.peek() && !(await needsKeys())) {
      access.value = "open";
      return;
    }
    const tenants = await everyPage<Tenant>("/v1/admin/tenants");
    const [tiers, keys, usage] = await Promise.all([
      get<List<Tier>>("/v1/admin/tiers", { kind }),
      everyPage<Key>("/v1/admin/keys"),
      usageBy("tenant"),
    ]);
    tenants.sort((a, b) => a.id.localeCompare(b.id));
    all.value = { tenants, tiers: tiers.data, keys, usage };
    access.value = "in";
    trouble.value = null;
  } catch (error) {
    tell(error);
    // The key may be of a time before: the server has none any more.
    if (access.peek() === "refused" && !(await needsKeys().catch(() => true))) access.value = "open";
  }
}

function daysAgo(days: number): string {
  return new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);
}

export async function loadDetails(tenant: string): Promise<void> {
  const name = encodeURIComponent(tenant);
  try {
    const [keys, usage, byKey] = await Promise.all([
      everyPage<Key>(`/v1/admin/keys?tenant=${name}`),
      usageBy("day,model", `&tenant=${name}`),
      usageBy("key,day", `&tenant=${name}&start=${daysAgo(kDaysOfKeys)}`),
    ]);
    details.value = { keys, usage, lastUsed: lastDays(byKey) };
    trouble.value = null;
  } catch (error) {
    tell(error);
  }
}

/** Reads again what a tenant uses of its limits at this moment. */
export async function lookAgain(tenant: string): Promise<void> {
  const seen = all.peek();
  if (!seen) return;
  try {
    replace(await get<Tenant>(`/v1/admin/tenants/${encodeURIComponent(tenant)}`, { kind }));
  } catch {
    // The next look tells.
  }
}

function replace(tenant: Tenant): void {
  const seen = all.peek();
  if (!seen) return;
  const others = seen.tenants.filter((one) => one.id !== tenant.id);
  all.value = { ...seen, tenants: [...others, tenant].sort((a, b) => a.id.localeCompare(b.id)) };
}

export interface TenantWish {
  name: string;
  tier: string;
  system_prompt: string;
}

/** Makes a tenant. What is wrong is thrown, for the form to show. */
export async function createTenant(wish: TenantWish): Promise<Tenant> {
  const made = await get<Tenant>("/v1/admin/tenants", { kind, body: wish });
  replace(made);
  return made;
}

export async function changeTenant(id: string, wish: Partial<TenantWish>): Promise<void> {
  replace(await get<Tenant>(`/v1/admin/tenants/${encodeURIComponent(id)}`, { kind, body: wish }));
}

export async function deleteTenant(id: string): Promise<void> {
  await get(`/v1/admin/tenants/${encodeURIComponent(id)}`, { kind, method: "DELETE" });
  const seen = all.peek();
  if (seen) all.value = { ...seen, tenants: seen.tenants.filter((one) => one.id !== id) };
}

export interface KeyWish {
  tenant: string;
  name: string;
  scope: Scope;
  expires_at?: number;
}

async function afterKeys(tenant: string): Promise<void> {
  await Promise.all([loadDetails(tenant), loadAll()]);
}

/** The new key with its text, which the server tells this once. */
export async function createKey(wish: KeyWish): Promise<Key> {
  const made = await get<Key>("/v1/admin/keys", { kind, body: wish });
  void afterKeys(wish.tenant);
  return made;
}

export async function rotateKey(key: Key): Promise<Key> {
  const made = await get<Key>(`/v1/admin/keys/${key.id}/rotate`, { kind, method: "POST" });
  void afterKeys(key.tenant);
  return made;
}

export async function revokeKey(key: Key): Promise<void> {
  await get(`/v1/admin/keys/${key.id}`, { kind, method: "DELETE" });
  void afterKeys(key.tenant);
}
