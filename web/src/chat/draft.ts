import type { ContextReport, Message, ServerToolCall, ToolCall, Usage } from "../api/types.ts";

/** An answer while it is written. */
export interface Draft {
  content: string;
  reasoning: string;
  toolCalls: ToolCall[];
  serverCalls: ServerToolCall[];
  model: string;
  numTokens: number; // pieces of text so far, about one token each
  usage: Usage | null;
  context: ContextReport | null;
  message: Message | null; // as it was stored, at the end
}

export function emptyDraft(): Draft {
  return {
    content: "",
    reasoning: "",
    toolCalls: [],
    serverCalls: [],
    model: "",
    numTokens: 0,
    usage: null,
    context: null,
    message: null,
  };
}

interface CallDelta {
  index: number;
  id?: string;
  function?: { name?: string; arguments?: string };
}

interface Chunk {
  model?: string;
  choices?: {
    delta?: { content?: string | null; reasoning_content?: string | null; tool_calls?: CallDelta[] };
  }[];
  server_tool_call?: ServerToolCall;
  usage?: Usage | null;
  context?: ContextReport;
  message?: Message;
}

function withCalls(calls: ToolCall[], deltas: CallDelta[]): ToolCall[] {
  const all = calls.map((call) => ({ ...call, function: { ...call.function } }));
  for (const delta of deltas) {
    const call = all[delta.index] ?? { id: delta.id ?? "", function: { name: "", arguments: "" } };
    all[delta.index] = call;
    if (delta.id) call.id = delta.id;
    call.function.name += delta.function?.name ?? "";
    call.function.arguments += delta.function?.arguments ?? "";
  }
  return all;
}

/** The draft with one more chunk of its stream. */
export function withChunk(draft: Draft, chunk: Chunk): Draft {
  const next = { ...draft };
  if (chunk.model) next.model = chunk.model;
  if (chunk.usage) next.usage = chunk.usage;
  if (chunk.context) next.context = chunk.context;
  if (chunk.message) next.message = chunk.message;
  const call = chunk.server_tool_call;
  if (call) next.serverCalls = [...draft.serverCalls.filter((one) => one.id !== call.id), call];
  const delta = chunk.choices?.[0]?.delta;
  if (!delta) return next;
  if (delta.content) next.content += delta.content;
  if (delta.reasoning_content) next.reasoning += delta.reasoning_content;
  if (delta.tool_calls) next.toolCalls = withCalls(draft.toolCalls, delta.tool_calls);
  if (delta.content || delta.reasoning_content || delta.tool_calls) next.numTokens += 1;
  return next;
}
