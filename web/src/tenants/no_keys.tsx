import { copyWith } from "../ui/copy.ts";
import { loadAll } from "./store.ts";

const commands = `kvasir tenant create acme --tier pro
kvasir key create --tenant acme --name laptop
kvasir key create --tenant acme --name admin --scope admin`;

/** How the first tenant is made, where the server has no keys yet. */
export function NoKeys() {
  return (
    <section class="card no-keys" aria-labelledby="no-keys-title">
      <header>
        <h2 id="no-keys-title">This server has no keys</h2>
      </header>
      <p>
        So it answers everybody on this machine and nobody else. A tenant is who uses it: a team, a customer,
        a program. Its keys say that it asks, and its tier how much it may use. Make the first ones in a
        terminal of the machine; the page does the rest.
      </p>
      <figure class="code">
        <figcaption>
          <span>a tenant, a key to chat with, and a key for this view</span>
          <button
            type="button"
            class="quiet small"
            onClick={(event) => void copyWith(event.currentTarget, commands)}
          >
            Copy
          </button>
        </figcaption>
        <pre tabIndex={0}>
          <code>{commands}</code>
        </pre>
      </figure>
      <ul class="notes muted">
        <li>
          Each key is shown once, by the command that makes it. From the first one on, everything needs a key,
          without a restart; this page asks for yours.
        </li>
        <li>
          After <code>make serve</code> the program is <code>build/release/bin/kvasir</code>. A server that
          was started with <code>--data-dir</code> wants the same in these commands.
        </li>
        <li>Conversations of the time before belong to no key and are not seen any more.</li>
      </ul>
      <div class="row">
        <button type="button" class="primary" onClick={() => void loadAll()}>
          I have made them
        </button>
      </div>
    </section>
  );
}
