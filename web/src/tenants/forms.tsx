import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { copyWith } from "../ui/copy.ts";
import { Dialog } from "../ui/dialog.tsx";
import { modelsText, secondsOf, tierText } from "./figures.ts";
import { all, changeTenant, createKey, createTenant } from "./store.ts";
import type { Key, Scope, Tenant } from "./types.ts";

/** A form in a dialog: what the server says is wrong stands above its buttons. */
function FormDialog(props: {
  title: string;
  action: string;
  kind?: "danger";
  onSubmit: () => Promise<void>;
  onClose: () => void;
  children: ComponentChildren;
}) {
  const [wrong, setWrong] = useState("");
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    try {
      await props.onSubmit();
    } catch (error) {
      setWrong((error as Error).message);
      setBusy(false);
    }
  };
  return (
    <Dialog title={props.title} onClose={props.onClose}>
      <form onSubmit={(event) => void submit(event)}>
        {props.children}
        {wrong && (
          <p class="error-text" role="alert">
            {wrong}
          </p>
        )}
        <div class="row end">
          <button type="button" class="quiet" onClick={props.onClose}>
            Cancel
          </button>
          <button type="submit" class={props.kind ?? "primary"} disabled={isBusy}>
            {props.action}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

/** Makes a tenant, or changes the one that is given. */
export function TenantForm(props: {
  tenant: Tenant | null;
  onClose: () => void;
  onDone: (id: string) => void;
}) {
  const { tenant } = props;
  const tiers = all.value?.tiers ?? [];
  const [name, setName] = useState(tenant?.id ?? "");
  const [tier, setTier] = useState(tenant?.tier ?? tiers[0]?.id ?? "free");
  const [prompt, setPrompt] = useState(tenant?.system_prompt ?? "");
  const chosen = tiers.find((one) => one.id === tier);
  const submit = async () => {
    if (tenant) await changeTenant(tenant.id, { tier, system_prompt: prompt });
    else await createTenant({ name: name.trim(), tier, system_prompt: prompt });
    props.onDone(tenant?.id ?? name.trim());
  };
  return (
    <FormDialog
      title={tenant ? `Change ${tenant.id}` : "New tenant"}
      action={tenant ? "Save" : "Create"}
      onSubmit={submit}
      onClose={props.onClose}
    >
      {!tenant && (
        <label class="field">
          <span>Name</span>
          <input
            required
            autofocus
            maxLength={64}
            autocomplete="off"
            spellcheck={false}
            value={name}
            onInput={(event) => setName(event.currentTarget.value)}
          />
          <small class="muted">letters, digits, dots, dashes; it cannot be changed later</small>
        </label>
      )}
      <label class="field">
        <span>Tier</span>
        <select value={tier} onChange={(event) => setTier(event.currentTarget.value)}>
          {!chosen && <option>{tier}</option>}
          {tiers.map((one) => (
            <option key={one.id}>{one.id}</option>
          ))}
        </select>
        <small class="muted">
          {chosen ? `${tierText(chosen)}; ${modelsText(chosen)}` : "not in the settings any more: free holds"}
        </small>
      </label>
      <label class="field">
        <span>System prompt</span>
        <textarea
          rows={4}
          placeholder="Stands before the system message of each of its chats"
          value={prompt}
          onInput={(event) => setPrompt(event.currentTarget.value)}
        />
      </label>
    </FormDialog>
  );
}

const scopes: [Scope, string][] = [
  ["tenant", "tenant: models, and what the tenant owns"],
  ["admin", "admin: tenants, keys, the machine and metrics"],
  ["metrics", "metrics: /metrics alone"],
];

export function KeyForm(props: { tenant: string; onClose: () => void; onMade: (key: Key) => void }) {
  const [name, setName] = useState("");
  const [scope, setScope] = useState<Scope>("tenant");
  const [day, setDay] = useState("");
  const submit = async () => {
    const expires = secondsOf(day);
    const wish = { tenant: props.tenant, name: name.trim(), scope };
    props.onMade(await createKey(expires === null ? wish : { ...wish, expires_at: expires }));
  };
  return (
    <FormDialog
      title={`New key of ${props.tenant}`}
      action="Create"
      onSubmit={submit}
      onClose={props.onClose}
    >
      <label class="field">
        <span>Name</span>
        <input
          autofocus
          placeholder="what it is for"
          maxLength={200}
          autocomplete="off"
          value={name}
          onInput={(event) => setName(event.currentTarget.value)}
        />
      </label>
      <label class="field">
        <span>Scope</span>
        <select value={scope} onChange={(event) => setScope(event.currentTarget.value as Scope)}>
          {scopes.map(([one, words]) => (
            <option key={one} value={one}>
              {words}
            </option>
          ))}
        </select>
      </label>
      <label class="field">
        <span>Expires</span>
        <input type="date" value={day} onInput={(event) => setDay(event.currentTarget.value)} />
        <small class="muted">at the beginning of this day in UTC; empty: never</small>
      </label>
    </FormDialog>
  );
}

/** The one time that a key is shown. */
export function NewKey({ made, onClose }: { made: Key; onClose: () => void }) {
  return (
    <Dialog title="The new key" holds onClose={onClose}>
      <div class="new-key">
        <p>
          A key of <strong>{made.tenant}</strong>, scope {made.scope}. It is shown this once: the server keeps
          only its hash.
        </p>
        <input
          class="mono"
          readOnly
          aria-label="The new key"
          value={made.key}
          ref={(input) => input?.select()}
        />
        <div class="row end">
          <button
            type="button"
            class="quiet"
            onClick={(event) => void copyWith(event.currentTarget, made.key ?? "")}
          >
            Copy
          </button>
          <button type="button" class="primary" onClick={onClose}>
            I have kept it
          </button>
        </div>
      </div>
    </Dialog>
  );
}

/** Asks before something that cannot be taken back. `word`: what must be typed first. */
export function Confirm(props: {
  title: string;
  action: string;
  word?: string;
  onConfirm: () => Promise<void>;
  onClose: () => void;
  children: ComponentChildren;
}) {
  const [typed, setTyped] = useState("");
  const { word } = props;
  const submit = async () => {
    if (word && typed !== word) throw new Error(`Type ${word} to go on.`);
    await props.onConfirm();
  };
  return (
    <FormDialog
      title={props.title}
      action={props.action}
      kind="danger"
      onSubmit={submit}
      onClose={props.onClose}
    >
      <p>{props.children}</p>
      {word && (
        <label class="field">
          <span>Type {word} to go on</span>
          <input
            autofocus
            autocomplete="off"
            spellcheck={false}
            value={typed}
            onInput={(event) => setTyped(event.currentTarget.value)}
          />
        </label>
      )}
    </FormDialog>
  );
}
