import { signal } from "@preact/signals";
import { get, open } from "../api/client.ts";

/** A model that is not loaded and could be. */
export interface Loadable {
  id: string;
  state: string;
  local: boolean;
  size_bytes: number;
  description?: string;
}

export const loadable = signal<Loadable[]>([]);
export const busy = signal<ReadonlySet<string>>(new Set()); // models that were asked for and have not answered
export const trouble = signal<string | null>(null);

export async function fetchLoadable(): Promise<void> {
  try {
    const { data } = await get<{ data: Loadable[] }>("/v1/machine/models", { kind: "admin" });
    loadable.value = data.filter((model) => model.state === "unloaded");
  } catch {
    loadable.value = []; // the machine's events tell what is wrong
  }
}

function setBusy(model: string, is: boolean): void {
  const models = new Set(busy.value);
  if (is) models.add(model);
  else models.delete(model);
  busy.value = models;
}

/** Loads, unloads or pulls a model. The machine's events show how far it is. */
export async function setModel(model: string, does: "load" | "unload" | "pull"): Promise<void> {
  trouble.value = null;
  const asks = does !== "unload"; // a model that is being loaded can still be unloaded
  if (asks) setBusy(model, true);
  try {
    await open(`/v1/models/${does}`, { body: { model }, kind: "admin" });
  } catch (error) {
    trouble.value = error instanceof Error ? error.message : String(error);
  }
  if (asks) setBusy(model, false);
  await fetchLoadable();
}
