// Ollama's API with `ollama` from npm.
import assert from "node:assert/strict";
import test from "node:test";
import { Ollama } from "ollama";

const host = process.env.KVASIR_URL;
const client = new Ollama({ host });
const messages = [{ role: "user", content: "What is 2+2?" }];
const steady = { temperature: 0, seed: 1, num_predict: 24 };

test("a stream is the whole answer", async () => {
  const whole = await client.chat({ model: "smollm2", messages, options: steady });
  assert.match(whole.message.content, /4/);
  assert.ok(whole.done && whole.eval_count > 0 && whole.total_duration > 0);
  let text = "";
  let last;
  for await (const part of await client.chat({ model: "smollm2", messages, options: steady, stream: true })) {
    text += part.message.content;
    last = part;
  }
  assert.equal(text, whole.message.content);
  assert.equal(last.eval_count, whole.eval_count);
});

test("generate", async () => {
  const request = { model: "smollm2", prompt: "Once upon a time", raw: true, options: { ...steady, num_predict: 8 } };
  const whole = await client.generate(request);
  let text = "";
  for await (const part of await client.generate({ ...request, stream: true })) text += part.response;
  assert.equal(text, whole.response);
  assert.equal(whole.done_reason, "length");
  assert.equal((await client.generate({ model: "smollm2", prompt: "" })).done_reason, "load");
});

test("structured output", async () => {
  const format = {
    type: "object",
    properties: { city: { type: "string", maxLength: 12 }, warm: { type: "boolean" } },
    required: ["city", "warm"],
    additionalProperties: false,
  };
  const { message } = await client.chat({ model: "smollm2", messages, format, options: { seed: 5 } });
  const answer = JSON.parse(message.content);
  assert.deepEqual(Object.keys(answer).sort(), ["city", "warm"]);
  assert.equal(typeof answer.warm, "boolean");
});

test("tools", async () => {
  const force = (url, init) => fetch(url, { ...init, body: JSON.stringify({ ...JSON.parse(init.body), tool_choice: "required" }) });
  const parameters = { type: "object", properties: { a: { type: "integer" }, b: { type: "integer" } }, required: ["a", "b"] };
  const tools = [{ type: "function", function: { name: "add", description: "Adds two numbers", parameters } }];
  const { message } = await new Ollama({ host, fetch: force }).chat({ model: "smollm2", messages, tools, options: { seed: 6 } });
  const [call] = message.tool_calls;
  assert.equal(call.function.name, "add");
  assert.ok(Number.isInteger(call.function.arguments.a) && Number.isInteger(call.function.arguments.b));
  const result = { role: "tool", tool_name: "add", content: "4" };
  const answer = await client.chat({ model: "smollm2", messages: [...messages, message, result], tools, options: steady });
  assert.ok(answer.message.content.length > 0);
});

test("embeddings", async () => {
  const { embeddings } = await client.embed({ model: "minilm", input: ["a cat", "a kitten", "a stock market"] });
  const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);
  assert.ok(dot(embeddings[0], embeddings[1]) > dot(embeddings[0], embeddings[2]) + 0.2);
  const { embedding } = await client.embeddings({ model: "minilm", prompt: "a cat" });
  assert.ok(1 - dot(embedding, embeddings[0]) < 1e-6);
});

test("models", async () => {
  const { models } = await client.list();
  assert.deepEqual(models.map((model) => model.name).sort(), ["minilm:latest", "smollm2:latest"]);
  const shown = await client.show({ model: "smollm2" });
  assert.equal(shown.model_info["llama.context_length"], 8192);
  assert.equal((await client.ps()).models.length, 2);
  assert.match((await client.version()).version, /^\d+\.\d+\.\d+$/);
});

test("errors, and a stream that is aborted", async () => {
  await assert.rejects(client.chat({ model: "nothing", messages }), (error) => error.status_code === 404 && /not found/.test(error.message));
  await assert.rejects(client.chat({ model: "smollm2", messages, options: { top_p: 7 } }), /options.top_p/);
  const stream = await client.chat({ model: "smollm2", messages, options: { num_predict: 8000, temperature: 1.5 }, stream: true });
  await assert.rejects(async () => {
    for await (const part of stream) if (part.message.content) stream.abort();
  }, { name: "AbortError" });
});
