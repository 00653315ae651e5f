import { effect } from "@preact/signals";
import { stored } from "./stored.ts";

export type Theme = "light" | "dark";

const preferred: Theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
const chosen = stored<Theme | null>("theme", null);

export function theme(): Theme {
  return chosen.value ?? preferred;
}

export function toggleTheme(): void {
  chosen.value = theme() === "dark" ? "light" : "dark";
}

effect(() => {
  document.documentElement.dataset.theme = theme();
});
