import { memo } from "preact/compat";
import { useEffect, useState } from "preact/hooks";
import { keys } from "../api/client.ts";
import { goTo, pathOf, route } from "../ui/route.ts";
import { TenantForm } from "./forms.tsx";
import { TenantTable } from "./list.tsx";
import { NoKeys } from "./no_keys.tsx";
import { access, all, loadAll, trouble } from "./store.ts";
import { TenantPage } from "./tenant.tsx";

const kLookMs = 10_000;

function Outside() {
  if (access.value === "open")
    return (
      <>
        <header class="head">
          <h1>Tenants</h1>
        </header>
        <NoKeys />
      </>
    );
  return (
    <div class="waiting-for-it">
      <h1>Tenants</h1>
      <p class="muted" role="status">
        {trouble.value ?? "Looking …"}
      </p>
      {trouble.value && (
        <button type="button" class="primary" onClick={() => void loadAll()}>
          {access.value === "refused" ? "Give an admin's key" : "Try again"}
        </button>
      )}
    </div>
  );
}

function TenantList() {
  const [words, setWords] = useState("");
  const [isMaking, setMaking] = useState(false);
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) void loadAll();
    }, kLookMs);
    return () => clearInterval(timer);
  }, []);
  return (
    <>
      <header class="head">
        <h1>Tenants</h1>
        <span class="muted">use of the last 30 days</span>
        <span class="grow" />
        <input
          type="search"
          placeholder="Search"
          aria-label="Search tenants"
          value={words}
          onInput={(event) => setWords(event.currentTarget.value)}
        />
        <button type="button" class="primary" onClick={() => setMaking(true)}>
          New tenant
        </button>
      </header>
      <section class="card" aria-label="Tenants">
        <TenantTable all={all.value!} words={words} />
      </section>
      {isMaking && (
        <TenantForm
          tenant={null}
          onClose={() => setMaking(false)}
          onDone={(id) => {
            setMaking(false);
            goTo("tenants", id);
          }}
        />
      )}
    </>
  );
}

function Missing({ id }: { id: string }) {
  return (
    <div class="waiting-for-it">
      <h1>{id}</h1>
      <p class="muted">There is no tenant of this name.</p>
      <a href={pathOf("tenants")}>All tenants</a>
    </div>
  );
}

/** Tenants, their keys, limits and usage, for whoever has an admin's key. */
export function Tenants() {
  const key = keys.admin.value;
  useEffect(() => void loadAll(), [key]);
  const { id } = route.value;
  const seen = access.value === "in" ? all.value : null;
  const tenant = seen?.tenants.find((one) => one.id === id);
  return (
    <main class="tenants" tabIndex={0}>
      {!seen && <Outside />}
      {seen && !id && <TenantList />}
      {seen && id && (tenant ? <TenantPage tenant={tenant} /> : <Missing id={id} />)}
    </main>
  );
}

/** The same list for the machine view, once an admin's key is known. Not drawn again with each look at the machine. */
export const TenantsCard = memo(() => {
  const key = keys.admin.value;
  useEffect(() => {
    if (key) void loadAll();
  }, [key]);
  if (!key || !all.value) return null;
  return (
    <section class="card" aria-labelledby="tenants-title">
      <header>
        <h2 id="tenants-title">Tenants</h2>
        <p class="muted">use of the last 30 days</p>
        <span class="grow" />
        <a href={pathOf("tenants")}>Keys and limits</a>
      </header>
      <TenantTable all={all.value} />
    </section>
  );
});
