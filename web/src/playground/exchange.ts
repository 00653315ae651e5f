import { keyFor } from "../api/client.ts";
import { readEvents } from "../api/sse.ts";
import type { Raw } from "./snippets.ts";

export interface TimedEvent {
  ms: number; // since the request was sent
  event: string;
  data: string;
}

/** A request and what came back so far. */
export interface Exchange {
  status: number;
  headers: [string, string][];
  headersMs: number;
  events: TimedEvent[];
  body: string;
  totalMs: number | null; // null while it runs
  failure: string;
}

export const emptyExchange: Exchange = {
  status: 0,
  headers: [],
  headersMs: 0,
  events: [],
  body: "",
  totalMs: null,
  failure: "",
};

export function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** Sends the request as it is. `show` is called with each piece that comes. */
const kMostEvents = 20_000;

// Shows what has come at most once a frame, however fast it comes.
async function readAll(
  body: ReadableStream<Uint8Array>,
  since: () => number,
  show: (events: TimedEvent[]) => void,
): Promise<void> {
  const events: TimedEvent[] = [];
  let frame = 0;
  const showNow = () => {
    frame = 0;
    show([...events]);
  };
  try {
    for await (const { event, data } of readEvents(body)) {
      if (events.length < kMostEvents) events.push({ ms: since(), event, data });
      if (frame === 0) frame = requestAnimationFrame(showNow);
    }
  } finally {
    cancelAnimationFrame(frame);
    showNow();
  }
}

export async function send(raw: Raw, stop: AbortSignal, show: (exchange: Exchange) => void): Promise<void> {
  const started = performance.now();
  const since = () => performance.now() - started;
  let now: Exchange = { ...emptyExchange };
  const put = (part: Partial<Exchange>) => {
    now = { ...now, ...part };
    show(now);
  };
  put({});
  try {
    const headers: Record<string, string> =
      raw.method === "GET" ? {} : { "Content-Type": "application/json" };
    const key = keyFor(raw.path);
    if (key) headers.Authorization = `Bearer ${key}`;
    const body = raw.method === "GET" ? undefined : raw.body;
    const response = await fetch(raw.path, { method: raw.method, headers, body, signal: stop });
    put({ status: response.status, headers: [...response.headers], headersMs: since() });
    if (response.headers.get("content-type")?.startsWith("text/event-stream")) {
      await readAll(response.body!, since, (events) => put({ events }));
    } else {
      put({ body: pretty(await response.text()) });
    }
  } catch (error) {
    put({ failure: stop.aborted ? "Stopped." : String((error as Error).message) });
  }
  put({ totalMs: since() });
}

interface AnyChunk {
  choices?: { delta?: { content?: string }; text?: string }[];
  type?: string;
  delta?: string | { text?: string };
}

// Events of some paths are no JSON, or no object.
function chunkOf(data: string): AnyChunk {
  try {
    const read = JSON.parse(data);
    return typeof read === "object" && read !== null ? read : {};
  } catch {
    return {};
  }
}

/** The text that the events of any of the APIs carry. */
export function textOf(events: TimedEvent[]): string {
  let text = "";
  for (const { data } of events) {
    if (data === "[DONE]") continue;
    const chunk = chunkOf(data);
    const choice = chunk.choices?.[0];
    text += choice?.delta?.content ?? choice?.text ?? "";
    if (chunk.type === "response.output_text.delta" && typeof chunk.delta === "string") text += chunk.delta;
    if (chunk.type === "content_block_delta" && typeof chunk.delta === "object")
      text += chunk.delta.text ?? "";
  }
  return text;
}
