export interface Model {
  id: string;
  ready: boolean;
  state: string;
  progress?: number;
  reason?: string;
  task?: string;
  context_window?: number;
}

export interface Conversation {
  id: string;
  created_at: number;
  updated_at: number;
  title: string | null;
  model: string | null;
  system_prompt: string | null;
  context_policy: string;
  settings: Settings;
  active_message_id: string | null;
}

/** Fields of a chat completion that a conversation keeps for every answer. */
export interface Settings {
  temperature?: number | null;
  top_p?: number | null;
  max_tokens?: number | null;
  seed?: number | null;
  response_format?: unknown;
  server_tools?: string[] | null;
  [other: string]: unknown;
}

export interface ToolCall {
  id: string;
  function: { name: string; arguments: string };
}

export interface ServerToolCall {
  id: string;
  name: string;
  arguments: string;
  status: string;
  output?: string;
  duration_ms?: number;
}

export interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
  prompt_tokens_details?: { cached_tokens: number };
}

export interface ContextReport {
  policy: string;
  window: number;
  prompt_tokens: number;
  dropped_messages: number;
  dropped_turns: number;
  summarized_messages: number;
  summary?: string;
  first_message_id?: string;
}

export interface Message {
  id: string;
  parent_id: string | null;
  status: string;
  role: string;
  content: string | null | { type: string; text?: string }[];
  reasoning_content?: string | null;
  tool_calls?: ToolCall[];
  tool_call_id?: string;
  model: string | null;
  finish_reason: string | null;
  usage: Usage | null;
  cost: number | null;
  timings: { first_token_ms: number | null; total_ms: number | null } | null;
  context: ContextReport | null;
  sibling_ids: string[];
}

export interface List<T> {
  data: T[];
  has_more: boolean;
  last_id: string | null;
}
