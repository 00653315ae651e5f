import { useRef, useState } from "preact/hooks";
import { keyFor } from "../api/client.ts";
import { escapeHtml, highlight } from "../chat/markdown.ts";
import { chosenModel } from "../chat/store.ts";
import { copyWith } from "../ui/copy.ts";
import { type Exchange, pretty, send, textOf } from "./exchange.ts";
import { curlOf, openaiOf, type Raw } from "./snippets.ts";
import { templates } from "./templates.ts";

function rawOf(at: number): Raw {
  const template = templates[at]!;
  const body = template.body(chosenModel.peek() || "auto");
  return { method: template.method, path: template.path, body: body ? JSON.stringify(body, null, 2) : "" };
}

function Code({ text, language, label }: { text: string; language: string; label: string }) {
  const html = language ? highlight(text, language) : escapeHtml(text);
  return (
    <section class="code-view" tabIndex={0} aria-label={label}>
      <pre dangerouslySetInnerHTML={{ __html: html }} />
    </section>
  );
}

function Tabs(props: { names: string[]; chosen: string; onChoose: (name: string) => void; label: string }) {
  return (
    <div class="tabs" role="tablist" aria-label={props.label}>
      {props.names.map((name) => (
        <button
          type="button"
          role="tab"
          key={name}
          aria-selected={name === props.chosen}
          onClick={() => props.onChoose(name)}
        >
          {name}
        </button>
      ))}
    </div>
  );
}

function Snippets({ raw }: { raw: Raw }) {
  const [chosen, choose] = useState("curl");
  const hasKey = keyFor(raw.path) !== "";
  const python = openaiOf(raw, location.origin, hasKey);
  const text = chosen === "curl" ? curlOf(raw, location.origin, hasKey) : python;
  return (
    <section class="card" aria-label="Snippets">
      <header>
        <Tabs names={["curl", "openai"]} chosen={chosen} onChoose={choose} label="Snippets" />
        <span class="grow" />
        <button
          type="button"
          class="quiet small"
          disabled={!text}
          onClick={(event) => void copyWith(event.currentTarget, text ?? "")}
        >
          Copy
        </button>
      </header>
      {text ? (
        <Code text={text} language={chosen === "curl" ? "bash" : "python"} label={`${chosen} snippet`} />
      ) : (
        <p class="muted">OpenAI's client has no method for this, or the body is not JSON.</p>
      )}
    </section>
  );
}

const kMostRows = 500;

function Events({ exchange }: { exchange: Exchange }) {
  return (
    <section class="table events" aria-label="Events" tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th scope="col" class="number">
              ms
            </th>
            <th scope="col" class="number">
              +
            </th>
            <th scope="col">Event</th>
            <th scope="col">Data</th>
          </tr>
        </thead>
        <tbody>
          {exchange.events.slice(0, kMostRows).map((event, at) => (
            <tr key={at}>
              <td class="number">{event.ms.toFixed(0)}</td>
              <td class="number muted">
                {(event.ms - (exchange.events[at - 1]?.ms ?? event.ms)).toFixed(0)}
              </td>
              <td>{event.event}</td>
              <td>
                <details>
                  <summary>
                    <code>{event.data}</code>
                  </summary>
                  <pre tabIndex={0}>{pretty(event.data)}</pre>
                </details>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {exchange.events.length > kMostRows && (
        <p class="muted more">and {(exchange.events.length - kMostRows).toLocaleString("en")} more</p>
      )}
    </section>
  );
}

function Answer({ exchange }: { exchange: Exchange | null }) {
  const [chosen, choose] = useState("");
  if (!exchange)
    return (
      <section class="card answer" aria-label="Response">
        <p class="muted nothing">The answer will be here, with the time of each event.</p>
      </section>
    );
  const names = exchange.events.length ? ["Events", "Text", "Headers"] : ["Body", "Headers"];
  const shown = names.includes(chosen) ? chosen : names[0]!;
  const headers = exchange.headers.map(([name, value]) => `${name}: ${value}`).join("\n");
  return (
    <section class="card answer" aria-label="Response" aria-busy={exchange.totalMs === null}>
      <header>
        <Tabs names={names} chosen={shown} onChoose={choose} label="Response" />
        <span class="grow" />
        {exchange.status > 0 && (
          <span class={`state ${exchange.status < 400 ? "ready" : "failed"}`}>{exchange.status}</span>
        )}
        <span class="muted">
          {exchange.events.length > 0 && `first event ${exchange.events[0]!.ms.toFixed(0)} ms · `}
          {exchange.totalMs === null ? "…" : `${exchange.totalMs.toFixed(0)} ms`}
        </span>
      </header>
      {exchange.failure && <p class="error-text">{exchange.failure}</p>}
      {shown === "Events" && <Events exchange={exchange} />}
      {shown === "Text" && <Code text={textOf(exchange.events)} language="" label="Text" />}
      {shown === "Body" && <Code text={exchange.body} language="json" label="Body" />}
      {shown === "Headers" && <Code text={headers} language="" label="Headers" />}
    </section>
  );
}

/** Any request to the API, and exactly what comes back. */
export function Playground() {
  const [at, setAt] = useState(0);
  const [raw, setRaw] = useState(rawOf(0));
  const [exchange, setExchange] = useState<Exchange | null>(null);
  const stop = useRef<AbortController | null>(null);
  const isRunning = exchange !== null && exchange.totalMs === null;
  const run = () => {
    stop.current = new AbortController();
    void send(raw, stop.current.signal, setExchange);
  };
  return (
    <main class="playground" tabIndex={0}>
      <header class="head">
        <h1>Playground</h1>
        <span class="grow" />
        <label class="picker">
          <span class="hidden">Example</span>
          <select
            value={at}
            onChange={(event) => {
              const next = Number(event.currentTarget.value);
              setAt(next);
              setRaw(rawOf(next));
            }}
          >
            {templates.map((template, index) => (
              <option key={template.name} value={index}>
                {template.name}
              </option>
            ))}
          </select>
        </label>
      </header>
      <div class="halves">
        <div class="half">
          <form
            class="card request"
            aria-label="Request"
            onSubmit={(event) => {
              event.preventDefault();
              if (!isRunning) run();
            }}
          >
            <header>
              <select
                aria-label="Method"
                value={raw.method}
                onChange={(event) => setRaw({ ...raw, method: event.currentTarget.value })}
              >
                {["GET", "POST", "PATCH", "DELETE"].map((method) => (
                  <option key={method}>{method}</option>
                ))}
              </select>
              <input
                class="mono grow"
                aria-label="Path"
                value={raw.path}
                onInput={(event) => setRaw({ ...raw, path: event.currentTarget.value })}
              />
              {isRunning ? (
                <button type="button" class="danger" onClick={() => stop.current?.abort()}>
                  Stop
                </button>
              ) : (
                <button type="submit" class="primary" title="Ctrl+Enter">
                  Send
                </button>
              )}
            </header>
            <textarea
              class="mono"
              aria-label="Body"
              spellcheck={false}
              rows={18}
              value={raw.body}
              disabled={raw.method === "GET"}
              onInput={(event) => setRaw({ ...raw, body: event.currentTarget.value })}
              onKeyDown={(event) => {
                if (event.key === "Enter" && (event.ctrlKey || event.metaKey))
                  event.currentTarget.form?.requestSubmit();
              }}
            />
          </form>
          <Snippets raw={raw} />
        </div>
        <Answer exchange={exchange} />
      </div>
    </main>
  );
}
