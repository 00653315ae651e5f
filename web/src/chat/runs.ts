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

// Draws at most once a frame, however fast the tokens come.
function drawer(id: string, run: Run): (draft: Draft) => void {
  let newest = run.draft;
  let isPlanned = false;
  return (draft) => {
    newest = draft;
    if (isPlanned) return;
    isPlanned = true;
    requestAnimationFrame(() => {
      isPlanned = false;
      const now = runs.value[id];
      if (now && now.streamId === run.streamId)
        set(id, { ...now, draft: newest, firstTokenAt: run.firstTokenAt });
    });
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

// Reads the stream to its end. What it has become is in the store then, unless it was refused.
async function settle(id: string, run: Run, work: Promise<void>, done: () => Promise<void>): Promise<void> {
  let error: ApiError | null = null;
  try {
    await work;
  } catch (cause) {
    error = cause instanceof ApiError ? cause : new ApiError(0, "broken_stream", "The stream broke off.");
  }
  remember(id, null);
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
    await follow(id, run, response);
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
    const work = async () => {
      try {
        await follow(id, run, await open(`/v1/streams/${streamId}?after=0`));
      } catch (error) {
        // It ended long ago, and its answer is in the store.
        if (!(error instanceof ApiError && error.status === 404)) throw error;
      }
    };
    void settle(id, run, work(), () => done(id));
  }
}

export async function stop(id: string): Promise<void> {
  const run = runs.value[id];
  if (!run?.streamId) return;
  await open(`/v1/streams/${run.streamId}`, { method: "DELETE" }).catch(() => {});
}
