import { askForKey, type KeyKind, keys } from "../api/client.ts";
import { Dialog } from "./dialog.tsx";

const kinds: [KeyKind, string][] = [
  ["tenant", "for chats and the playground"],
  ["admin", "for the machine and tenants"],
];

/** The keys that this browser keeps, to be changed or forgotten. */
export function KeptKeys({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="API keys of this browser" onClose={onClose}>
      <ul class="kept-keys">
        {kinds.map(([kind, what]) => {
          const key = keys[kind].value;
          return (
            <li key={kind}>
              <span>
                {what}
                <br />
                <code class="muted">{key ? `…${key.slice(-4)}` : "none"}</code>
              </span>
              <button
                type="button"
                class="quiet small"
                onClick={() => {
                  onClose();
                  void askForKey(kind, "").then((given) => given && location.reload());
                }}
              >
                {key ? "Change" : "Give one"}
                <span class="hidden"> {what}</span>
              </button>
              {key && (
                <button
                  type="button"
                  class="quiet small"
                  onClick={() => {
                    keys[kind].value = "";
                    location.reload(); // what was read with it goes too
                  }}
                >
                  Forget<span class="hidden"> the one {what}</span>
                </button>
              )}
            </li>
          );
        })}
      </ul>
    </Dialog>
  );
}
