export interface Template {
  name: string;
  method: string;
  path: string;
  body: (model: string) => unknown;
}

const question = "Name three rivers of Europe.";

export const templates: Template[] = [
  {
    name: "Chat completion",
    method: "POST",
    path: "/v1/chat/completions",
    body: (model) => ({
      model,
      messages: [{ role: "user", content: question }],
      max_tokens: 120,
      stream: true,
      stream_options: { include_usage: true },
    }),
  },
  {
    name: "Chat with a schema",
    method: "POST",
    path: "/v1/chat/completions",
    body: (model) => ({
      model,
      messages: [{ role: "user", content: question }],
      response_format: {
        type: "json_schema",
        json_schema: {
          name: "rivers",
          schema: {
            type: "object",
            properties: { rivers: { type: "array", items: { type: "string" }, maxItems: 3 } },
            required: ["rivers"],
            additionalProperties: false,
          },
        },
      },
      max_tokens: 120,
      kvasir: { receipt: true },
    }),
  },
  {
    name: "Completion",
    method: "POST",
    path: "/v1/completions",
    body: (model) => ({
      model,
      prompt: "The three longest rivers of Europe are",
      max_tokens: 40,
      stream: true,
    }),
  },
  {
    name: "Response (OpenAI)",
    method: "POST",
    path: "/v1/responses",
    body: (model) => ({ model, input: question, max_output_tokens: 120, stream: true }),
  },
  {
    name: "Message (Anthropic)",
    method: "POST",
    path: "/v1/messages",
    body: (model) => ({
      model,
      max_tokens: 120,
      messages: [{ role: "user", content: question }],
      stream: true,
    }),
  },
  { name: "Tokenize", method: "POST", path: "/v1/tokenize", body: (model) => ({ model, prompt: question }) },
  { name: "Models", method: "GET", path: "/v1/models", body: () => null },
  { name: "Usage", method: "GET", path: "/v1/usage?group_by=model,day", body: () => null },
  { name: "Readiness", method: "GET", path: "/health/ready", body: () => null },
];
