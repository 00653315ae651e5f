import { signal } from "@preact/signals";
import { ApiError, open } from "../api/client.ts";
import { readEvents } from "../api/sse.ts";
import { History } from "./history.ts";
import type { Constants, Look } from "./types.ts";

export const look = signal<Look | null>(null);
export const constants = signal<Constants | null>(null);
export const chosen = signal(""); // a model; empty: all together
export const trouble = signal<string | null>(null);
export let history = new History([]);

export function choose(model: string): void {
  chosen.value = model;
  history = new History(constants.value?.latency_bounds ?? []);
}

async function follow(stop: AbortSignal): Promise<void> {
  const response = await open("/v1/machine/events", { signal: stop, kind: "admin" });
  trouble.value = null;
  for await (const event of readEvents(response.body!)) {
    const data = JSON.parse(event.data);
    if (event.event === "constants") {
      constants.value = data;
      history = new History(data.latency_bounds);
    } else {
      history.push(data, chosen.value);
      look.value = data;
    }
  }
}

/** Watches the machine until it is told to stop. A stream that breaks off is opened again. */
export function watch(): () => void {
  const stop = new AbortController();
  const run = async () => {
    while (!stop.signal.aborted) {
      try {
        await follow(stop.signal);
      } catch (error) {
        if (stop.signal.aborted) return;
        trouble.value = error instanceof Error ? error.message : String(error);
        if (error instanceof ApiError && (error.status === 401 || error.status === 403)) return;
      }
      await new Promise((resolve) => setTimeout(resolve, 2000));
    }
  };
  void run();
  return () => stop.abort();
}

export async function cancel(id: string): Promise<void> {
  await open(`/v1/machine/requests/${encodeURIComponent(id)}`, { method: "DELETE", kind: "admin" }).catch(
    (error) => {
      trouble.value = String(error.message ?? error);
    },
  );
}
