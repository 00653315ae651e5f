import { Fragment } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Model } from "../api/types.ts";
import { IconButton } from "../ui/icons.tsx";
import { send } from "./actions.ts";
import { attach, Composer } from "./composer.tsx";
import { MessageView } from "./message.tsx";
import { Running } from "./running.tsx";
import { SettingsDialog } from "./settings.tsx";
import {
  branchFrom,
  chatModels,
  chosenModel,
  current,
  currentId,
  currentRun,
  isLoading,
  loadMessages,
  messages,
  models,
  problem,
  serverIsDown,
} from "./store.ts";
import { firstGiven } from "./text.ts";

const examples = [
  { title: "Explain", text: "Explain how a B-tree stays balanced, in five sentences." },
  {
    title: "Write code",
    text: "Write a Python function that merges overlapping intervals, with a short test.",
  },
  { title: "Compare", text: "Compare TCP and QUIC in a table with four rows." },
  { title: "Summarize", text: "Give me three short tips for writing a clear bug report." },
];

function ModelOnItsWay({ model }: { model: Model }) {
  const isDownload = model.state === "downloading";
  const percent = Math.round((model.progress ?? 0) * 100);
  return (
    <li class={model.state === "failed" ? "failed" : ""}>
      <strong>{model.id}</strong>
      <span>
        {isDownload
          ? `downloads, ${percent} %`
          : model.state === "failed"
            ? model.reason
            : `${model.state} …`}
      </span>
      {isDownload && <progress max={100} value={percent} aria-label={`Download of ${model.id}`} />}
    </li>
  );
}

/** What of the models is not there yet. The others answer meanwhile. */
function ModelStates() {
  const notReady = models.value.filter((model) => !model.ready);
  if (serverIsDown.value)
    return (
      <p class="states down" role="status">
        The server cannot be reached. Trying again …
      </p>
    );
  if (notReady.length === 0) return null;
  return (
    <ul class="states" aria-label="Models that are not ready">
      {notReady.map((model) => (
        <ModelOnItsWay key={model.id} model={model} />
      ))}
    </ul>
  );
}

function Welcome() {
  const hasModel = chatModels.value.some((model) => model.ready);
  return (
    <div class="welcome">
      <img src="/assets/icon.svg" alt="" width="52" height="52" />
      <h1>What shall we talk about?</h1>
      <p class="muted">
        {hasModel
          ? "Everything stays on this server. Drop a text file anywhere to talk about it."
          : "The first model is on its way. Ask already: it answers as soon as it is there."}
      </p>
      <div class="examples">
        {examples.map(({ title, text }) => (
          <button
            type="button"
            key={title}
            disabled={chosenModel.value === ""}
            onClick={() => void send(text)}
          >
            <strong>{title}</strong>
            <span>{text}</span>
          </button>
        ))}
      </div>
    </div>
  );
}

function Toast() {
  const text = problem.value;
  if (!text) return null;
  return (
    <div class="toast" role="alert">
      <span>{text}</span>
      <IconButton
        icon="close"
        label="Dismiss"
        onClick={() => {
          problem.value = null;
        }}
      />
    </div>
  );
}

// Follows the end of the conversation unless the reader has scrolled up.
function useFollowing() {
  const scroller = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const [showsDown, setShowsDown] = useState(false);
  const onScroll = () => {
    const element = scroller.current!;
    isAtEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < 60;
    setShowsDown(!isAtEnd.current);
  };
  const toEnd = () => {
    const element = scroller.current;
    if (element) element.scrollTop = element.scrollHeight;
  };
  useEffect(() => {
    if (isAtEnd.current) toEnd();
  });
  return { scroller, onScroll, toEnd, showsDown };
}

function Cut() {
  return (
    <p class="cut">What is above this line did not fit any more: the newest answer was made without it.</p>
  );
}

function Messages() {
  const run = currentRun.value;
  const isBusy = run !== null && !run.error;
  const { scroller, onScroll, toEnd, showsDown } = useFollowing();
  let shown = messages.value;
  const from = branchFrom.value;
  // While an answer is made again, or goes onto another branch, what it replaces is not shown.
  if (run?.ask) {
    const parentAt = shown.findIndex((one) => one.id === run.ask?.parentId);
    shown = shown.slice(0, parentAt + 1);
  } else if (run) {
    shown = shown.filter((one) => one.status !== "in_progress");
  } else if (from) {
    shown = shown.slice(0, shown.findIndex((one) => one.id === from) + 1);
  }
  const first = firstGiven(shown);
  const firstAt = shown.findIndex((one) => one.id === first);
  return (
    <>
      <section class="scroller" ref={scroller} onScroll={onScroll} tabIndex={0} aria-label="Messages">
        <h1 class="hidden">{current.value?.title ?? "New conversation"}</h1>
        <div class="column" aria-live="off">
          {shown.map((message, at) => (
            <Fragment key={message.id}>
              {at > 0 && at === firstAt && <Cut />}
              <MessageView message={message} isBusy={isBusy} isOut={at < firstAt} />
            </Fragment>
          ))}
          {run && <Running run={run} hasQuestion={false} />}
          {shown.length === 0 && !run && isLoading.value && <p class="muted loading">Loading …</p>}
        </div>
      </section>
      {showsDown && <IconButton icon="down" class="to-end" label="To the newest message" onClick={toEnd} />}
    </>
  );
}

// An answer that another page waits for, or whose stream is gone: look until it has ended.
function useUnfinished(): void {
  const id = currentId.value;
  const run = currentRun.value;
  const list = messages.value;
  useEffect(() => {
    if (!id || run || list.at(-1)?.status !== "in_progress") return;
    const timer = setTimeout(() => void loadMessages(id), 1000);
    return () => clearTimeout(timer);
  }, [id, run, list]);
}

export function Chat() {
  const [isOver, setOver] = useState(false);
  const [showsSettings, setShowsSettings] = useState(false);
  useUnfinished();
  useEffect(() => {
    const open = () => setShowsSettings(true);
    window.addEventListener("kvasir-settings", open);
    return () => window.removeEventListener("kvasir-settings", open);
  }, []);
  return (
    <main
      class={`chat ${isOver ? "over" : ""}`}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={(event) => {
        if (event.target === event.currentTarget) setOver(false);
      }}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        void attach(event.dataTransfer?.files ?? []);
      }}
    >
      {currentId.value ? <Messages key={currentId.value} /> : <Welcome />}
      <div class="foot">
        <Toast />
        <ModelStates />
        <Composer onSettings={() => setShowsSettings(true)} />
      </div>
      {showsSettings && <SettingsDialog onClose={() => setShowsSettings(false)} />}
    </main>
  );
}
