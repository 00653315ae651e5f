// Continue's own adapters from npm, which its editors and its command use, against the running server.
import assert from "node:assert/strict";
import test from "node:test";
import { constructLlmApi } from "@continuedev/openai-adapters";

const config = { apiBase: process.env.KVASIR_URL + "/v1/", apiKey: "none" };
const api = constructLlmApi({ provider: "openai", ...config });
const signal = new AbortController().signal;
const coder = "qwen2.5-coder";
const chat = (options = {}) => ({
  model: "smollm2",
  messages: [{ role: "user", content: "What is 2+2?" }],
  max_tokens: 24,
  temperature: 0,
  ...options,
});

async function textOf(stream, piece) {
  let text = "";
  for await (const chunk of stream) text += (chunk.choices[0] && piece(chunk.choices[0])) ?? "";
  return text;
}

test("a chat, and the same streamed with its usage", async () => {
  const whole = await api.chatCompletionNonStream(chat({ stream: false }), signal);
  assert.match(whole.choices[0].message.content, /4/);
  let usage;
  const stream = async function* () {
    for await (const chunk of api.chatCompletionStream(chat({ stream: true }), signal)) {
      usage = chunk.usage ?? usage;
      yield chunk;
    }
  };
  assert.equal(await textOf(stream(), (choice) => choice.delta.content), whole.choices[0].message.content);
  assert.ok(usage.completion_tokens > 3);
});

test("an agent's tool is called", async () => {
  const parameters = { type: "object", properties: { filepath: { type: "string" } }, required: ["filepath"] };
  const tool = { type: "function", function: { name: "read_file", description: "Reads a file", parameters } };
  const messages = [{ role: "user", content: "Read the file notes.txt." }];
  const calls = [];
  for await (const chunk of api.chatCompletionStream(chat({ model: coder, messages, tools: [tool], max_tokens: 100, stream: true }), signal))
    for (const call of chunk.choices[0]?.delta.tool_calls ?? []) calls.push(call.function);
  assert.equal(calls[0].name, "read_file");
  assert.deepEqual(JSON.parse(calls.map((call) => call.arguments ?? "").join("")), { filepath: "notes.txt" });
});

test("autocompletion writes the tokens around the gap itself", async () => {
  const prompt = "<|fim_prefix|>def add(a, b):\n    return <|fim_suffix|>\n\nprint(add(1, 2))<|fim_middle|>";
  const body = { model: coder, prompt, max_tokens: 8, temperature: 0, stop: ["<|endoftext|>", "<|fim_prefix|>", "\n\n"], stream: true };
  assert.match(await textOf(api.completionStream(body, signal), (choice) => choice.text), /^\s*a \+ b/);
});

test("the gap of a suffix is filled", async () => {
  const llamastack = constructLlmApi({ provider: "llamastack", ...config });
  const body = { model: coder, prompt: "def add(a, b):\n    return ", suffix: "\n\nprint(add(1, 2))", max_tokens: 8, temperature: 0, stop: ["\n"] };
  assert.match(await textOf(llamastack.fimStream(body, signal), (choice) => choice.delta.content), /^\s*a \+ b/);
});

test("models are listed, by the name of Ollama too", async () => {
  const ollama = constructLlmApi({ provider: "ollama", apiBase: process.env.KVASIR_URL, apiKey: "none" });
  for (const one of [api, ollama]) assert.ok((await one.list()).some((model) => model.id === coder));
});
