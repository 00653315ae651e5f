import type { Message } from "../api/types.ts";

/** The text of a message, whose content may be in parts. */
export function textOf(message: Message): string {
  if (message.content === null || message.content === undefined) return "";
  if (typeof message.content === "string") return message.content;
  return message.content.map((part) => part.text ?? "").join("");
}

/** A fence that the text itself does not contain. */
export function fenced(name: string, text: string): string {
  let ticks = "```";
  while (text.includes(ticks)) ticks += "`";
  return `${ticks}${name}\n${text.replace(/\n$/, "")}\n${ticks}`;
}

export interface Attachment {
  name: string;
  text: string;
}

/** What is sent: the files first, then what was typed. */
export function withAttachments(text: string, files: Attachment[]): string {
  return [...files.map((file) => `${file.name}\n${fenced("", file.text)}`), text]
    .filter(Boolean)
    .join("\n\n");
}

/** Tokens a second after the first one; null where that cannot be told. */
export function tokensPerSecond(message: Message): number | null {
  const first = message.timings?.first_token_ms;
  const total = message.timings?.total_ms;
  const tokens = message.usage?.completion_tokens ?? 0;
  if (first == null || total == null || tokens < 2 || total <= first) return null;
  return ((tokens - 1) * 1000) / (total - first);
}

/**
 * The first message that the model was given for its newest answer, where older ones were left out or put
 * into a summary.
 */
export function firstGiven(messages: Message[]): string | null {
  const context = messages.findLast((one) => one.context)?.context;
  if (!context || context.dropped_messages + context.summarized_messages === 0) return null;
  return context.first_message_id ?? null;
}

export function shortTime(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}

export function dayOf(seconds: number, now: Date): string {
  const day = new Date(seconds * 1000);
  const start = (date: Date) => new Date(date.getFullYear(), date.getMonth(), date.getDate()).getTime();
  const days = Math.round((start(now) - start(day)) / 86_400_000);
  if (days <= 0) return "Today";
  if (days === 1) return "Yesterday";
  if (days < 7) return "This week";
  if (days < 31) return "This month";
  return "Earlier";
}
