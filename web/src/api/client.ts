import { signal } from "@preact/signals";
import { stored } from "../ui/stored.ts";

/** What the server said is wrong. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly retryAfterS: number;

  constructor(status: number, code: string, message: string, retryAfterS = 0) {
    super(message);
    this.status = status;
    this.code = code;
    this.retryAfterS = retryAfterS;
  }
}

/** Whose key a request needs: that of somebody who chats, or of somebody who administers. */
export type KeyKind = "tenant" | "admin";

export const keys = {
  tenant: stored<string>("key", ""),
  admin: stored<string>("adminKey", ""),
};

/** The key for a path: some belong to who administers the server. */
export function keyFor(path: string): string {
  const isAdmins = /^\/(v1\/(admin|machine)\/|metrics)/.test(path);
  return (isAdmins && keys.admin.value) || keys.tenant.value;
}

/** Set while a key is being asked for; `why` is the server's sentence. */
export const keyWanted = signal<{ kind: KeyKind; why: string } | null>(null);
let waiting: ((given: boolean) => void)[] = [];

export function giveKey(kind: KeyKind, key: string): void {
  keys[kind].value = key;
  settle(true);
}

export function refuseKey(): void {
  settle(false);
}

function settle(given: boolean): void {
  keyWanted.value = null;
  const told = waiting;
  waiting = [];
  for (const tell of told) tell(given);
}

export function askForKey(kind: KeyKind, why: string): Promise<boolean> {
  keyWanted.value ??= { kind, why };
  return new Promise((resolve) => waiting.push(resolve));
}

export interface Call {
  method?: string;
  body?: unknown;
  signal?: AbortSignal;
  kind?: KeyKind;
}

function init(call: Call, key: string): RequestInit {
  const headers: Record<string, string> = {};
  if (call.body !== undefined) headers["Content-Type"] = "application/json";
  if (key) headers.Authorization = `Bearer ${key}`;
  return {
    method: call.method ?? (call.body === undefined ? "GET" : "POST"),
    headers,
    body: call.body === undefined ? undefined : JSON.stringify(call.body),
    signal: call.signal,
    cache: "no-store",
  };
}

export async function errorOf(response: Response): Promise<ApiError> {
  const retry = Number(response.headers.get("retry-after") ?? 0);
  try {
    const { error } = await response.json();
    return new ApiError(response.status, error.code ?? "", error.message ?? response.statusText, retry);
  } catch {
    return new ApiError(response.status, "", `The server answered ${response.status}.`, retry);
  }
}

/** An answer that went well. A key is asked for where the server wants one. */
export async function open(path: string, call: Call = {}): Promise<Response> {
  const kind = call.kind ?? "tenant";
  while (true) {
    const key = keys[kind].value;
    let response: Response;
    try {
      response = await fetch(path, init(call, key));
    } catch (cause) {
      if (call.signal?.aborted) throw cause;
      throw new ApiError(0, "unreachable", "The server cannot be reached.");
    }
    if (response.ok) return response;
    const error = await errorOf(response);
    const lacksKey = error.status === 401 || error.code === "insufficient_scope";
    if (!lacksKey) throw error;
    if (key !== keys[kind].value) continue; // another request has got one meanwhile
    if (!(await askForKey(kind, key ? error.message : ""))) throw error;
  }
}

export async function get<T>(path: string, call: Call = {}): Promise<T> {
  return (await open(path, call)).json() as Promise<T>;
}
