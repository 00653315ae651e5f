import { newChat, stopCurrent } from "../chat/actions.ts";
import { conversations, currentId, currentRun } from "../chat/store.ts";
import { goTo } from "./route.ts";

export const shortcuts: [string, string][] = [
  ["Ctrl K", "search the conversations"],
  ["Ctrl Shift O", "new chat"],
  ["Alt ↑ / ↓", "the conversation above or below"],
  ["Ctrl ,", "settings of the conversation"],
  ["/", "go to the prompt"],
  ["Esc", "stop the answer"],
  ["Alt 1 / 2 / 3 / 4", "chat, machine, tenants, playground"],
  ["?", "this list"],
];

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}

function focus(selector: string): void {
  document.querySelector<HTMLElement>(selector)?.focus();
}

function step(by: number): void {
  const all = conversations.value;
  const at = all.findIndex((one) => one.id === currentId.value);
  const next = all[at < 0 ? 0 : at + by];
  if (next) goTo("chat", next.id);
}

const actions: Record<string, () => void> = {
  "ctrl+k": () => focus("#search"),
  "ctrl+shift+o": newChat,
  "alt+arrowup": () => step(-1),
  "alt+arrowdown": () => step(1),
  "ctrl+,": () => window.dispatchEvent(new Event("kvasir-settings")),
  "alt+1": () => goTo("chat", currentId.value),
  "alt+2": () => goTo("machine"),
  "alt+3": () => goTo("tenants"),
  "alt+4": () => goTo("playground"),
};

function nameOf(event: KeyboardEvent): string {
  const parts = [event.key.toLowerCase()];
  if (event.shiftKey) parts.unshift("shift");
  if (event.altKey) parts.unshift("alt");
  if (event.ctrlKey || event.metaKey) parts.unshift("ctrl");
  return parts.join("+");
}

export function listenToKeys(showHelp: () => void): () => void {
  const onKey = (event: KeyboardEvent) => {
    if (event.defaultPrevented || document.querySelector("dialog[open]")) return;
    const action = actions[nameOf(event)];
    if (action) {
      event.preventDefault();
      action();
    } else if (event.key === "Escape" && currentRun.value) {
      stopCurrent();
    } else if (!isTyping(event.target) && event.key === "/") {
      event.preventDefault();
      focus("#prompt");
    } else if (!isTyping(event.target) && event.key === "?") {
      showHelp();
    }
  };
  window.addEventListener("keydown", onKey);
  return () => window.removeEventListener("keydown", onKey);
}
