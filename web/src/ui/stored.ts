import { effect, type Signal, signal } from "@preact/signals";

/** A signal whose value outlives the page, in this browser. */
export function stored<T>(name: string, initial: T): Signal<T> {
  const key = `kvasir.${name}`;
  let value = initial;
  try {
    const text = localStorage.getItem(key);
    if (text !== null) value = JSON.parse(text) as T;
  } catch {
    // Storage is switched off or holds something else: begin anew.
  }
  const state = signal(value);
  effect(() => {
    try {
      localStorage.setItem(key, JSON.stringify(state.value));
    } catch {
      // Nothing is kept, and everything else works.
    }
  });
  return state;
}
