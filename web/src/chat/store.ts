import { computed, effect, signal } from "@preact/signals";
import { ApiError, get, open } from "../api/client.ts";
import type { Conversation, List, Message, Model, Settings } from "../api/types.ts";
import { goTo, route } from "../ui/route.ts";
import { stored } from "../ui/stored.ts";
import { runs, stop } from "./runs.ts";

/** What a conversation is asked with. */
export interface Choices {
  model: string;
  systemPrompt: string;
  contextPolicy: string;
  settings: Settings;
}

export const models = signal<Model[]>([]);
export const serverIsDown = signal(false);
export const conversations = signal<Conversation[]>([]);
export const messages = signal<Message[]>([]);
export const isLoading = signal(false);
export const problem = signal<string | null>(null);
/**
 * For conversations that are yet to begin. Small models ramble at the temperature 1 that the API has by default,
 * and some never end.
 */
export const newChoices = stored<Choices>("choices", {
  model: "",
  systemPrompt: "",
  contextPolicy: "sliding_window",
  settings: { temperature: 0.3, top_p: 0.9, max_tokens: 2048 },
});
/** The message after which the next one is put, where that is not the last one. */
export const branchFrom = signal<string | null>(null);

export const currentId = computed(() => (route.value.view === "chat" ? route.value.id : null));
export const current = computed(() => conversations.value.find((one) => one.id === currentId.value) ?? null);
export const currentRun = computed(() => runs.value[currentId.value ?? ""] ?? null);

export const chatModels = computed(() => models.value.filter((model) => model.task !== "embed"));

export function choicesOf(conversation: Conversation | null): Choices {
  if (!conversation) return newChoices.value;
  return {
    model: conversation.model ?? "",
    systemPrompt: conversation.system_prompt ?? "",
    contextPolicy: conversation.context_policy,
    settings: conversation.settings,
  };
}

/** The model that answers next: the chosen one, `auto`, or the first that is ready. Before any is, `auto`. */
export const chosenModel = computed(() => {
  const all = chatModels.value;
  const chosen = choicesOf(current.value).model;
  if (all.some((model) => model.id === chosen)) return chosen;
  const first = all.find((model) => model.id === "auto") ?? all.find((model) => model.ready);
  return first?.id ?? (all.length > 0 ? "auto" : "");
});

/** The model that answers next is there. */
export const isAnswering = computed(() => {
  const chosen = chosenModel.value;
  return chatModels.value.some((model) => model.id === chosen && model.ready);
});

function tell(error: unknown): void {
  problem.value = error instanceof ApiError ? error.message : String(error);
}

export async function loadModels(): Promise<void> {
  try {
    models.value = (await get<List<Model>>("/v1/models")).data;
    serverIsDown.value = false;
  } catch (error) {
    serverIsDown.value = error instanceof ApiError && error.status === 0;
  }
}

/** Looks at the models often while one is on its way, and now and then otherwise. */
export async function watchModels(): Promise<void> {
  while (true) {
    await loadModels();
    const settled = models.value.length > 0 && models.value.every((m) => m.ready || m.state === "failed");
    await new Promise((resolve) => setTimeout(resolve, settled ? 15_000 : 1500));
  }
}

const kMostConversations = 5000;

// The newest first, what was just read before what is `known`.
function show(read: Conversation[], known: Conversation[]): void {
  const ids = new Set(read.map((one) => one.id));
  const others = known.filter((one) => !ids.has(one.id));
  conversations.value = [...others, ...read].sort((a, b) => b.updated_at - a.updated_at);
}

export async function loadConversations(): Promise<void> {
  try {
    const all: Conversation[] = [];
    let after = "";
    do {
      const page = await get<List<Conversation>>(`/v1/conversations?limit=100${after}`);
      all.push(...page.data);
      after = page.has_more && page.last_id ? `&after=${page.last_id}` : "";
      show(page.data, conversations.peek());
    } while (after && all.length < kMostConversations);
  } catch (error) {
    tell(error);
  }
}

async function allMessages(id: string, query = ""): Promise<Message[]> {
  const all: Message[] = [];
  let after = "";
  do {
    const page = await get<List<Message>>(`/v1/conversations/${id}/messages?limit=100${query}${after}`);
    all.push(...page.data);
    after = page.has_more && page.last_id ? `&after=${page.last_id}` : "";
  } while (after);
  return all;
}

/** Reads the messages of the conversation that is shown. */
export async function loadMessages(id: string): Promise<void> {
  try {
    const found = await allMessages(id);
    if (currentId.peek() === id) messages.value = found;
  } catch (error) {
    if (currentId.peek() !== id) return;
    if (error instanceof ApiError && error.status === 404) goTo("chat");
    tell(error);
  }
}

export async function refresh(id: string): Promise<void> {
  const found = await get<Conversation>(`/v1/conversations/${id}`);
  const others = conversations.value.filter((one) => one.id !== id);
  conversations.value = [found, ...others].sort((a, b) => b.updated_at - a.updated_at);
  if (currentId.peek() === id) await loadMessages(id);
}

export async function change(id: string, fields: Record<string, unknown>): Promise<void> {
  try {
    const changed = await get<Conversation>(`/v1/conversations/${id}`, { method: "PATCH", body: fields });
    conversations.value = conversations.value.map((one) => (one.id === id ? changed : one));
  } catch (error) {
    tell(error);
  }
}

export async function setChoices(choices: Partial<Choices>): Promise<void> {
  const conversation = current.peek();
  newChoices.value = { ...newChoices.peek(), ...choices };
  if (!conversation) return;
  const fields: Record<string, unknown> = {};
  if (choices.model !== undefined) fields.model = choices.model;
  if (choices.systemPrompt !== undefined) fields.system_prompt = choices.systemPrompt;
  if (choices.contextPolicy !== undefined) fields.context_policy = choices.contextPolicy;
  if (choices.settings !== undefined) fields.settings = choices.settings;
  await change(conversation.id, fields);
}

export async function remove(id: string): Promise<void> {
  try {
    await stop(id);
    await open(`/v1/conversations/${id}`, { method: "DELETE" });
    conversations.value = conversations.value.filter((one) => one.id !== id);
    if (currentId.peek() === id) goTo("chat");
  } catch (error) {
    tell(error);
  }
}

export async function makeConversation(): Promise<string> {
  const choices = newChoices.peek();
  const body: Record<string, unknown> = {
    model: chosenModel.peek(),
    context_policy: choices.contextPolicy,
    settings: choices.settings,
  };
  if (choices.systemPrompt) body.system_prompt = choices.systemPrompt;
  const made = await get<Conversation>("/v1/conversations", { body });
  conversations.value = [made, ...conversations.value];
  return made.id;
}

/** Shows another version of a message, and what followed it. */
export async function showVersion(messageId: string): Promise<void> {
  const id = currentId.peek();
  if (!id) return;
  const branch = await allMessages(id, `&branch=${messageId}`);
  messages.value = branch;
  const leaf = branch.at(-1)?.id;
  if (leaf) await change(id, { active_message_id: leaf });
}

/** The newest ones, which others may have begun since the list was read. */
export async function loadNewest(): Promise<void> {
  try {
    show((await get<List<Conversation>>("/v1/conversations?limit=50")).data, conversations.peek());
  } catch {
    // What is shown is as it was.
  }
}

// An address may name one that the list has not got.
async function loadUnlisted(id: string): Promise<void> {
  if (conversations.peek().some((one) => one.id === id)) return;
  show([await get<Conversation>(`/v1/conversations/${id}`)], conversations.peek());
}

effect(() => {
  const id = currentId.value;
  branchFrom.value = null;
  messages.value = [];
  if (!id) return;
  isLoading.value = true;
  loadMessages(id).finally(() => {
    isLoading.value = false;
    loadUnlisted(id).catch(() => {}); // it is gone, which has been told
  });
});
