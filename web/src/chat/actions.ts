import { effect } from "@preact/signals";
import type { Message } from "../api/types.ts";
import { goTo, route } from "../ui/route.ts";
import { type Ask, forgetRun, resumeAll, runs, start, stop } from "./runs.ts";
import {
  branchFrom,
  chosenModel,
  currentId,
  loadConversations,
  loadNewest,
  makeConversation,
  messages,
  problem,
  refresh,
  watchModels,
} from "./store.ts";

function begin(id: string, ask: Ask): void {
  void start(id, ask, () => refresh(id));
}

const versionPath = (id: string, message: Message) => `/v1/conversations/${id}/messages/${message.id}`;

let isMaking = false; // a conversation, for which one question is enough

/** Whether it was sent. Where it was not, `problem` says why. */
export async function send(text: string): Promise<boolean> {
  let id = currentId.peek();
  const after = branchFrom.peek();
  if (!id) {
    if (isMaking) return false;
    isMaking = true;
    try {
      id = await makeConversation();
      goTo("chat", id);
    } catch (error) {
      problem.value = (error as Error).message;
      return false;
    } finally {
      isMaking = false;
    }
  }
  const body: Record<string, unknown> = { content: text, model: chosenModel.peek() };
  if (after) body.parent_id = after;
  branchFrom.value = null;
  const parentId = after ?? messages.peek().at(-1)?.id ?? null;
  begin(id, { path: `/v1/conversations/${id}/messages`, body, parentId, text });
  return true;
}

/** Another version of the user's message, with an answer of its own. */
export function resend(message: Message, text: string): void {
  const id = currentId.peek();
  if (!id) return;
  const body = { content: text, model: chosenModel.peek() };
  begin(id, { path: versionPath(id, message), body, parentId: message.parent_id, text });
}

export function regenerate(message: Message): void {
  const id = currentId.peek();
  if (!id) return;
  begin(id, {
    path: versionPath(id, message),
    body: { model: chosenModel.peek() },
    parentId: message.parent_id,
    text: "",
  });
}

export function retry(): void {
  const id = currentId.peek();
  const ask = runs.peek()[id ?? ""]?.ask;
  if (!id || !ask) return;
  // An answer that broke off is stored with its question, which must not be asked twice.
  const last = messages.peek().at(-1);
  const isStored = last?.role === "assistant" && last.status !== "completed" && last.id !== ask.parentId;
  if (isStored) regenerate(last);
  else begin(id, { ...ask, body: { ...ask.body, model: chosenModel.peek() } });
}

export function dismiss(): void {
  const id = currentId.peek();
  if (id) forgetRun(id);
}

export function stopCurrent(): void {
  const id = currentId.peek();
  if (id) void stop(id);
}

export function newChat(): void {
  goTo("chat");
  document.querySelector<HTMLTextAreaElement>("#prompt")?.focus();
}

function readChats(): void {
  void watchModels();
  void loadConversations();
  resumeAll(refresh);
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) void loadNewest();
  });
}

/** Reads what chats need, once a view needs it: who only looks at the machine is asked for no other key. */
export function startUp(): void {
  let hasRead = false;
  effect(() => {
    const { view } = route.value;
    if (hasRead || view === "machine" || view === "tenants") return;
    hasRead = true;
    queueMicrotask(readChats);
  });
}
