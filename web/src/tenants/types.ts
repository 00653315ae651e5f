/** A limit of a tenant's tier, and what is used of it now. */
export interface Limit {
  limit: number;
  used: number;
}

export interface Tenant {
  id: string;
  tier: string;
  system_prompt: string;
  created_at: number;
  limits: Record<string, Limit>;
}

export interface Tier {
  id: string;
  weight: number;
  priority: number;
  max_context: number | null;
  models: string[] | null; // null: all
  slo_ttft_ms: number | null;
  slo_tpot_ms: number | null;
  [limit: string]: unknown;
}

export type Scope = "tenant" | "admin" | "metrics";

export interface Key {
  id: string;
  tenant: string;
  name: string;
  scope: Scope;
  hint: string; // the last characters
  status: "active" | "expired" | "revoked";
  created_at: number;
  expires_at: number | null;
  revoked_at: number | null;
  key?: string; // in the answer that made it
}

/** Sums of usage. What was not asked to be kept apart is absent. */
export interface Usage {
  tenant?: string;
  key?: string | null;
  model?: string;
  day?: string;
  requests: number;
  cancelled: number;
  failed: number;
  prompt_tokens: number;
  cached_tokens: number;
  completion_tokens: number;
  cost: number | null;
  currency: string | null;
}
