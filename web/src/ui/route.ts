import { signal } from "@preact/signals";

export type View = "chat" | "machine" | "tenants" | "playground";

export interface Route {
  view: View;
  id: string | null;
}

/** "#/chat/conv_1" and the like: the server has one page. */
export function parseRoute(hash: string): Route {
  const [view, id] = hash.replace(/^#\/?/, "").split("/");
  if (view === "machine" || view === "playground") return { view, id: null };
  if (view === "tenants") return { view, id: id || null };
  return { view: "chat", id: id || null };
}

export function pathOf(view: View, id: string | null = null): string {
  return id ? `#/${view}/${id}` : `#/${view}`;
}

export const route = signal<Route>(parseRoute(typeof location === "undefined" ? "" : location.hash));

export function goTo(view: View, id: string | null = null): void {
  const path = pathOf(view, id);
  if (location.hash !== path) location.hash = path;
  route.value = parseRoute(path);
}

if (typeof window !== "undefined")
  window.addEventListener("hashchange", () => {
    const next = parseRoute(location.hash);
    if (next.view !== route.value.view || next.id !== route.value.id) route.value = next;
  });
