import { signal } from "@preact/signals";
import { ApiError, open } from "../api/client.ts";
import { readEvents } from "../api/sse.ts";
import { stored } from "../ui/stored.ts";
import { type Draft, emptyDraft, withChunk } from "./draft.ts";

/** What was asked for, so that it can be asked for again. */
export interface Ask {
  path: string; // of the endpoint that answers
  body: Record<string, unknown>;
  parentId: string | null; // the message after which the answer's turn stands
  text: string; // the user's; empty where an answer is made again
}

/** An answer that is being written, or that could not be. */
export interface Run {
  ask: Ask | null; // null after a reload
  streamId: string;
  draft: Draft;
  startedAt: number;
  firstTokenAt: number;
  error: ApiError | null;
}

/** Conversations whose answer shall end as soon as its stream has a name. */
const toStop = new Set<string>();

export const runs = signal<Record<string, Run>>({});
/** The ids of streams by conversation, for a page that is loaded again. */
const known = stored<Record<string, string>>("streams", {});

function set(id: string, run: Run | null): void {
  const { [id]: _old, ...others } = runs.value;
  runs.value = run ? { ...others, [id]: run } : others;
}

function remember(id: string, streamId: string | null): void {
  const { [id]: _old, ...others } = known.value;
  known.value = streamId ? { ...others, [id]: streamId } : others;
}

export function forgetRun(id: string): void {
  set(id, null);
  remember(id, null);
}

// Of long texts every drawing takes its time, and the page shall stay usable.
function pauseFor(draft: Draft): number {
  const length = draft.content.length + draft.reasoning.length;
  return length > 200_000 ? 1000 : length > 40_000 ? 200 : 0;
}

// Draws at most once a frame, however fast the tokens come.
function drawer(id: string, run: Run): (draft: Draft) => void {
  let newest = run.draft;
  let isPlanned = false;
  return (draft) => {
    newest = draft;
    if (isPlanned) return;
    isPlanned = true;
    const drawNow = () => {
      isPlanned = false;
      const now = runs.value[id];
      if (now && now.streamId === run.streamId)
        set(id, { ...now, draft: newest, firstTokenAt: run.firstTokenAt });
    };
    const pause = pauseFor(draft);
    if (pause > 0) setTimeout(drawNow, pause);
    else requestAnimationFrame(drawNow);
  };
}

async function follow(id: string, run: Run, response: Response): Promise<void> {
  const draw = drawer(id, run);
  let draft = run.draft;
  for await (const event of readEvents(response.body!)) {
    if (event.data === "[DONE]") break;
    const chunk = JSON.parse(event.data);
    if (chunk.error)
      throw new ApiError(200, chunk.error.code ?? "", chunk.error.message ?? "The answer failed.");
    draft = withChunk(draft, chunk);
    if (run.firstTokenAt === 0 && draft.numTokens > 0) run.firstTokenAt = performance.now();
    draw(draft);
  }
}

const kMostTries = 5;
const kPauseMs = 1000;

function isBroken(error: unknown): boolean {
  return !(error instanceof ApiError) || error.code === "unreachable";
}

// Follows a stream, and takes it up again from its beginning where the connection breaks off. Without a
// response it is one that ran when the page was left.
async function followToTheEnd(id: string, run: Run, response: Response | null): Promise<void> {
  let next = response;
  for (let tries = 1; ; tries++) {
    try {
      await follow(id, run, next ?? (await open(`/v1/streams/${run.streamId}?after=0`)));
      return;
    } catch (error) {
      // It ended meanwhile, and its answer is in the store.
      if (!next && error instanceof ApiError && error.status === 404) return;
      if (!isBroken(error) || tries === kMostTries || !run.streamId) throw error;
    }
    next = null;
    await new Promise((resolve) => setTimeout(resolve, kPauseMs));
  }
}

// Reads the stream to its end. What it has become is in the store then, unless it was refused.
async function settle(id: string, run: Run, work: Promise<void>, done: () => Promise<void>): Promise<void> {
  let error: ApiError | null = null;
  try {
    await work;
  } catch (cause) {
    error = cause instanceof ApiError ? cause : new ApiError(0, "broken_stream", "The stream broke off.");
  }
  // A connection also breaks off when the page is left: whoever opens it again takes the stream up.
  if (error?.status !== 0) remember(id, null);
  toStop.delete(id);
  const wasStopped = error?.code === "request_cancelled";
  await done().catch(() => {});
  if (error && !wasStopped) set(id, { ...(runs.value[id] ?? run), error });
  else set(id, null);
}

export async function start(id: string, ask: Ask, done: () => Promise<void>): Promise<void> {
  const run: Run = {
    ask,
    streamId: "",
    draft: emptyDraft(),
    startedAt: performance.now(),
    firstTokenAt: 0,
    error: null,
  };
  set(id, run);
  const work = async () => {
    const body = { ...ask.body, stream: true, stream_options: { resumable: true, include_usage: true } };
    const response = await open(ask.path, { body });
    run.streamId = response.headers.get("x-stream-id") ?? "";
    set(id, { ...run });
    remember(id, run.streamId);
    if (toStop.delete(id)) await stop(id);
    await followToTheEnd(id, run, response);
  };
  await settle(id, run, work(), done);
}

/** Takes the streams up again that ran when the page was left. */
export function resumeAll(done: (id: string) => Promise<void>): void {
  for (const [id, streamId] of Object.entries(known.value)) {
    const run: Run = {
      ask: null,
      streamId,
      draft: emptyDraft(),
      startedAt: performance.now(),
      firstTokenAt: 0,
      error: null,
    };
    set(id, run);
    void settle(id, run, followToTheEnd(id, run, null), () => done(id));
  }
}

export async function stop(id: string): Promise<void> {
  const run = runs.value[id];
  if (!run || run.error) return;
  if (!run.streamId) {
    toStop.add(id);
    return;
  }
  await open(`/v1/streams/${run.streamId}`, { method: "DELETE" }).catch(() => {});
}
