// The official `@anthropic-ai/sdk` from npm, and Vercel's `ai` with `@ai-sdk/anthropic`, against the running server.
import assert from "node:assert/strict";
import test from "node:test";
import Anthropic from "@anthropic-ai/sdk";
import { createAnthropic } from "@ai-sdk/anthropic";
import { generateText, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";

const baseURL = process.env.KVASIR_URL;
const client = new Anthropic({ baseURL, apiKey: "none", maxRetries: 0 });
const coder = "qwen2.5-coder";
const system = "You are a helpful assistant. Call tools where they help; tell their answers to the user in a sentence.";
const question = { role: "user", content: "What is the weather in Paris right now?" };
const weather = {
  name: "get_weather",
  description: "Get the current weather of a city",
  input_schema: {
    type: "object",
    properties: { city: { type: "string", description: "The name of the city" } },
    required: ["city"],
    additionalProperties: false,
  },
};
const params = (options = {}) => ({
  model: "smollm2",
  max_tokens: 24,
  temperature: 0,
  messages: [{ role: "user", content: "What is 2+2?" }],
  ...options,
});
const ask = (options) => client.messages.create(params(options));

test("a message, and the same streamed", async () => {
  const message = await ask();
  assert.match(message.content[0].text, /4/);
  assert.equal(message.stop_reason, "end_turn");
  assert.ok(message.usage.input_tokens + message.usage.cache_read_input_tokens > 10);
  const seen = [];
  const stream = client.messages.stream(params()).on("text", (text) => seen.push(text));
  const final = await stream.finalMessage();
  assert.equal(seen.join(""), message.content[0].text);
  assert.deepEqual(final.content.map((b) => b.text), message.content.map((b) => b.text));
  assert.equal(final.usage.output_tokens, message.usage.output_tokens);
  assert.equal(final.stop_reason, "end_turn");
});

test("system, stop sequences, max_tokens, prefill", async () => {
  const whole = (await ask({ system: [{ type: "text", text: "Answer in one sentence." }] })).content[0].text;
  const word = whole.split(" ")[2];
  const stopped = await ask({ system: "Answer in one sentence.", stop_sequences: [word] });
  assert.equal(stopped.content[0].text, whole.slice(0, whole.indexOf(word)));
  assert.equal(stopped.stop_reason, "stop_sequence");
  assert.equal(stopped.stop_sequence, word);
  assert.equal((await ask({ max_tokens: 3 })).stop_reason, "max_tokens");
  const { content } = await ask({
    messages: [{ role: "user", content: "What is the capital of France?" }, { role: "assistant", content: "The capital of France is" }],
  });
  assert.match(content[0].text, /^ ?Paris/);
});

test("tools: the call, and the sentence that follows its result", async () => {
  const tools = [weather];
  const first = await ask({ model: coder, max_tokens: 200, system, tools, messages: [question] });
  assert.equal(first.stop_reason, "tool_use");
  const call = first.content.find((b) => b.type === "tool_use");
  assert.equal(call.name, "get_weather");
  assert.deepEqual(call.input, { city: "Paris" });
  const result = { type: "tool_result", tool_use_id: call.id, content: '{"temperature_c": 18, "sky": "sunny"}' };
  const messages = [question, { role: "assistant", content: first.content }, { role: "user", content: [result] }];
  const second = await ask({ model: coder, max_tokens: 200, system, tools, messages });
  assert.equal(second.stop_reason, "end_turn");
  assert.match(second.content[0].text, /18/);
});

test("tools in a stream: any, one by name, none", async () => {
  const options = { model: coder, max_tokens: 200, tools: [weather], messages: [question] };
  for (const tool_choice of [{ type: "any", disable_parallel_tool_use: true }, { type: "tool", name: "get_weather" }]) {
    const final = await client.messages.stream(params({ ...options, tool_choice })).finalMessage();
    assert.deepEqual(final.content.map((b) => [b.type, b.input]), [["tool_use", { city: "Paris" }]]);
    assert.equal(final.stop_reason, "tool_use");
  }
  const plain = await ask({ ...options, tool_choice: { type: "none" } });
  assert.deepEqual(plain.content.map((b) => b.type), ["text"]);
});

test("count_tokens agrees with the message's usage", async () => {
  const { max_tokens, temperature, ...prompt } = params();
  const counted = await client.messages.countTokens(prompt);
  const { usage } = await ask({ max_tokens: 1 });
  assert.equal(counted.input_tokens, usage.input_tokens + usage.cache_read_input_tokens);
});

test("error classes", async () => {
  await assert.rejects(ask({ model: "nope" }), Anthropic.NotFoundError);
  await assert.rejects(ask({ temperature: 9 }), (error) => {
    assert.ok(error instanceof Anthropic.BadRequestError);
    assert.equal(error.error.error.type, "invalid_request_error");
    return true;
  });
  const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } };
  await assert.rejects(ask({ messages: [{ role: "user", content: [image] }] }), /image/);
});

test("ai with @ai-sdk/anthropic: text and tools", async () => {
  const provider = createAnthropic({ baseURL: baseURL + "/v1", apiKey: "none" });
  const { textStream } = streamText({ model: provider("smollm2"), prompt: "What is 2+2?", temperature: 0, maxOutputTokens: 24 });
  let text = "";
  for await (const piece of textStream) text += piece;
  assert.match(text, /4/);
  const asked = [];
  const get_weather = tool({
    description: weather.description,
    inputSchema: z.object({ city: z.string().describe("The name of the city") }),
    execute: async ({ city }) => {
      asked.push(city);
      return { temperature_c: 18, sky: "sunny" };
    },
  });
  const answer = await generateText({
    model: provider(coder),
    system,
    prompt: question.content,
    tools: { get_weather },
    stopWhen: stepCountIs(3),
    temperature: 0,
  });
  assert.deepEqual(asked, ["Paris"]);
  assert.match(answer.text, /18/);
});
