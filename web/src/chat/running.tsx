import { useEffect, useState } from "preact/hooks";
import { dismiss, retry } from "./actions.ts";
import { Markdown, Reasoning, ServerCalls, ToolCalls } from "./message.tsx";
import type { Run } from "./runs.ts";
import { isAnswering } from "./store.ts";
import { shortTime } from "./text.ts";

const kRetryMs = 1000;

// A question that came before its model is asked again when the model is there.
function useRetryWhenReady(run: Run): boolean {
  const waits = run.ask !== null && run.error?.code === "model_not_ready";
  const isReady = isAnswering.value;
  useEffect(() => {
    if (!waits || !isReady) return;
    const timer = setTimeout(retry, kRetryMs);
    return () => clearTimeout(timer);
  }, [waits, isReady]);
  return waits;
}

function Problem({ run }: { run: Run }) {
  const error = run.error!;
  if (useRetryWhenReady(run))
    return (
      <div class="row" role="status">
        <div class="dots" aria-hidden="true">
          <i />
          <i />
          <i />
        </div>
        <p class="muted">The model is not there yet. It is asked as soon as it is.</p>
        <button type="button" class="quiet small" onClick={dismiss}>
          Dismiss
        </button>
      </div>
    );
  return (
    <div class="problem" role="alert">
      <p>
        <strong>{error.status >= 400 ? `Error ${error.status}` : "The answer broke off"}</strong>
        {error.code && <code>{error.code}</code>}
      </p>
      <p>{error.message}</p>
      {error.retryAfterS > 0 && <p class="muted">It may work again in {error.retryAfterS} s.</p>}
      <div class="row">
        {run.ask && (
          <button type="button" class="primary" onClick={retry}>
            Try again
          </button>
        )}
        <button type="button" class="quiet" onClick={dismiss}>
          Dismiss
        </button>
      </div>
    </div>
  );
}

function LiveFigures({ run }: { run: Run }) {
  const [now, setNow] = useState(performance.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(performance.now()), 250);
    return () => clearInterval(timer);
  }, []);
  const waited = Math.max(0, (run.firstTokenAt || now) - run.startedAt);
  const writing = run.firstTokenAt ? now - run.firstTokenAt : 0;
  const speed = writing > 200 ? ((run.draft.numTokens - 1) * 1000) / writing : 0;
  return (
    <p class="figures ongoing">
      {run.draft.model && <span class="model">{run.draft.model}</span>}
      {run.firstTokenAt ? (
        <>
          <span>{run.draft.numTokens} tokens</span>
          {speed > 0 && <span>{speed.toFixed(speed < 10 ? 1 : 0)} tok/s</span>}
        </>
      ) : (
        <span>waiting for the first token … {shortTime(waited)}</span>
      )}
    </p>
  );
}

/** The turn that is being answered: the question, unless it is stored already, and the answer so far. */
export function Running({ run, hasQuestion }: { run: Run; hasQuestion: boolean }) {
  const { draft, error } = run;
  const isEmpty = !draft.content && !draft.reasoning && draft.toolCalls.length === 0;
  return (
    <>
      {run.ask?.text && !hasQuestion && (
        <article class="message user" aria-label="You">
          <div class="bubble">{run.ask.text}</div>
        </article>
      )}
      <article class="message assistant running" aria-label="Answer" aria-busy={!error}>
        <Reasoning text={draft.reasoning} isOpen={!draft.content} />
        <ServerCalls calls={draft.serverCalls} />
        <ToolCalls calls={draft.toolCalls} />
        {isEmpty && !error && (
          <div class="dots" role="img" aria-label="Waiting for the answer">
            <i />
            <i />
            <i />
          </div>
        )}
        <Markdown text={draft.content} />
        {error ? <Problem run={run} /> : <LiveFigures run={run} />}
      </article>
    </>
  );
}
