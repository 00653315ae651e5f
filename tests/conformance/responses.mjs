// OpenAI's Responses API with the official `openai` package from npm, against the running server.
import assert from "node:assert/strict";
import test from "node:test";
import OpenAI from "openai";
import { zodTextFormat } from "openai/helpers/zod";
import { z } from "zod";

const client = new OpenAI({ baseURL: process.env.KVASIR_URL + "/v1", apiKey: "none", maxRetries: 0 });
const coder = "qwen2.5-coder";
const weather = {
  type: "function",
  name: "get_weather",
  description: "Get the current weather of a city",
  parameters: {
    type: "object",
    properties: { city: { type: "string", description: "The name of the city" } },
    required: ["city"],
    additionalProperties: false,
  },
  strict: true,
};
const system = "You are a helpful assistant. Call tools where they help; tell their answers to the user in a sentence.";
const params = (options = {}) => ({ model: "smollm2", input: "What is 2+2?", temperature: 0, max_output_tokens: 24, ...options });

test("a response, and the same streamed", async () => {
  const response = await client.responses.create(params());
  assert.match(response.output_text, /4/);
  assert.equal(response.status, "completed");
  const stream = client.responses.stream(params());
  const seen = [];
  let text = "";
  for await (const event of stream) {
    assert.equal(event.sequence_number, seen.length);
    seen.push(event.type);
    if (event.type === "response.output_text.delta") text += event.delta;
  }
  assert.equal(text, response.output_text);
  const final = await stream.finalResponse();
  assert.equal(final.output_text, response.output_text);
  assert.equal(final.usage.output_tokens, response.usage.output_tokens);
  assert.deepEqual([...new Set(seen)], [
    "response.created",
    "response.in_progress",
    "response.output_item.added",
    "response.content_part.added",
    "response.output_text.delta",
    "response.output_text.done",
    "response.content_part.done",
    "response.output_item.done",
    "response.completed",
  ]);
});

test("incomplete, and logprobs", async () => {
  const cut = await client.responses.create(params({ max_output_tokens: 3 }));
  assert.equal(cut.status, "incomplete");
  assert.equal(cut.incomplete_details.reason, "max_output_tokens");
  const known = await client.responses.create(params({ include: ["message.output_text.logprobs"], top_logprobs: 2 }));
  const { text, logprobs } = known.output[0].content[0];
  assert.equal(logprobs.map((t) => t.token).join(""), text);
});

test("parse makes a typed object", async () => {
  const Person = z.object({ name: z.string(), age: z.number().int() });
  const response = await client.responses.parse(
    params({
      model: coder,
      input: "Extract the person: Jason is 25 years old.",
      text: { format: zodTextFormat(Person, "person") },
      max_output_tokens: 100,
    }),
  );
  assert.deepEqual(response.output_parsed, { name: "Jason", age: 25 });
});

test("tools: the call in a stream, and the sentence that follows its result", async () => {
  const input = [{ role: "user", content: "What is the weather in Paris right now?" }];
  const options = { model: coder, instructions: system, tools: [weather], max_output_tokens: 200 };
  const first = await client.responses.stream(params({ ...options, input })).finalResponse();
  const call = first.output.find((item) => item.type === "function_call");
  assert.equal(call.name, "get_weather");
  assert.deepEqual(JSON.parse(call.arguments), { city: "Paris" });
  input.push(...first.output, { type: "function_call_output", call_id: call.call_id, output: '{"temperature_c": 18, "sky": "sunny"}' });
  const second = await client.responses.create(params({ ...options, input }));
  assert.match(second.output_text, /18/);
  const forced = await client.responses.create(
    params({ ...options, input: "Hello!", tool_choice: { type: "function", name: "get_weather" }, parallel_tool_calls: false }),
  );
  assert.deepEqual(forced.output.map((item) => item.type), ["function_call"]);
});

test("stored, read, gone on from, and deleted", async () => {
  const stream = client.responses.stream(params());
  const first = await stream.finalResponse();
  const kept = await client.responses.retrieve(first.id);
  assert.equal(kept.output_text, first.output_text);
  const second = await client.responses.create(params({ input: "And 3+3?", previous_response_id: first.id }));
  const items = [];
  for await (const item of client.responses.inputItems.list(second.id, { order: "asc", limit: 2 })) items.push(item);
  assert.deepEqual(items.map((item) => item.role), ["user", "assistant", "user"]);
  await client.responses.delete(second.id);
  await assert.rejects(client.responses.retrieve(second.id), OpenAI.NotFoundError);
  const fleeting = await client.responses.create(params({ store: false }));
  await assert.rejects(client.responses.retrieve(fleeting.id), OpenAI.NotFoundError);
});

test("error classes", async () => {
  await assert.rejects(client.responses.create(params({ model: "nope" })), OpenAI.NotFoundError);
  await assert.rejects(client.responses.create(params({ temperature: 9 })), (error) => {
    assert.ok(error instanceof OpenAI.BadRequestError);
    assert.equal(error.param, "temperature");
    return true;
  });
  await assert.rejects(client.responses.create(params({ input: "word ".repeat(20000) })), (error) => {
    assert.equal(error.code, "context_length_exceeded");
    assert.equal(error.param, "input");
    return true;
  });
});
