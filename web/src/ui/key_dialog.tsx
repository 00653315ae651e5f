import { useState } from "preact/hooks";
import { giveKey, keyWanted, refuseKey } from "../api/client.ts";
import { Dialog } from "./dialog.tsx";

// Anything else cannot be sent in a header.
function isKey(text: string): boolean {
  return /^[!-~]+$/.test(text);
}

/** Asks for a key where the server has refused a request without one. */
export function KeyDialog() {
  const wanted = keyWanted.value;
  const [key, setKey] = useState("");
  const [wrong, setWrong] = useState("");
  if (!wanted) return null;
  const isAdmin = wanted.kind === "admin";
  return (
    <Dialog title={isAdmin ? "An admin's key" : "Your API key"} onClose={refuseKey}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (!isKey(key.trim())) return setWrong("A key has letters, digits and signs, without spaces.");
          giveKey(wanted.kind, key.trim());
          setKey("");
        }}
      >
        <p class="muted">
          {isAdmin
            ? "Tenants and the machine view show what everybody does, so this server wants a key of the scope admin."
            : "This server wants a key. It is kept in this browser and sent to this server only."}
        </p>
        {(wrong || wanted.why) && (
          <p class="error-text" role="alert">
            {wrong || wanted.why}
          </p>
        )}
        <label class="field">
          <span>Key</span>
          <input
            type="password"
            autocomplete="off"
            spellcheck={false}
            value={key}
            autofocus
            onInput={(event) => {
              setKey(event.currentTarget.value);
              setWrong("");
            }}
          />
        </label>
        <div class="row end">
          <button type="button" class="quiet" onClick={refuseKey}>
            Not now
          </button>
          <button type="submit" class="primary" disabled={!key.trim()}>
            Use this key
          </button>
        </div>
      </form>
    </Dialog>
  );
}
