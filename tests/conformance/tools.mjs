// Tool calls and typed objects with the clients that people use: `openai` and Vercel's `ai`, from npm.
import assert from "node:assert/strict";
import test from "node:test";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateObject, generateText, stepCountIs, streamObject, streamText, tool } from "ai";
import OpenAI from "openai";
import { z } from "zod";

const baseURL = process.env.KVASIR_URL + "/v1";
const name = "qwen2.5-coder";
const client = new OpenAI({ baseURL, apiKey: "none", maxRetries: 0 });
const provider = createOpenAICompatible({ name: "kvasir", baseURL, supportsStructuredOutputs: true });
const model = provider(name);
const system = "You are a helpful assistant. Call tools where they help; tell their answers to the user in a sentence.";
const question = "What is the weather in Paris right now?";
const parameters = {
  type: "object",
  properties: { city: { type: "string", description: "The name of the city" } },
  required: ["city"],
  additionalProperties: false,
};
const definition = { name: "get_weather", description: "Get the current weather of a city", parameters };
const getWeather = (execute) =>
  tool({
    description: definition.description,
    inputSchema: z.object({ city: z.string().describe("The name of the city") }),
    ...(execute && { execute }),
  });

test("openai: a call in a stream", async () => {
  const stream = client.chat.completions.stream({
    model: name,
    messages: [{ role: "user", content: question }],
    tools: [{ type: "function", function: definition }],
    temperature: 0,
  });
  const completion = await stream.finalChatCompletion();
  const call = completion.choices[0].message.tool_calls[0];
  assert.equal(call.function.name, "get_weather");
  assert.deepEqual(JSON.parse(call.function.arguments), { city: "Paris" });
  assert.equal(completion.choices[0].finish_reason, "tool_calls");
});

test("openai: runTools goes from the call to a sentence", async () => {
  const asked = [];
  const run = async ({ city }) => {
    asked.push(city);
    return JSON.stringify({ temperature_c: 18, sky: "sunny" });
  };
  const runner = client.chat.completions.runTools({
    model: name,
    messages: [{ role: "system", content: system }, { role: "user", content: question }],
    tools: [{ type: "function", function: { ...definition, function: run, parse: JSON.parse } }],
    temperature: 0,
  });
  const text = await runner.finalContent();
  assert.deepEqual(asked, ["Paris"]);
  assert.match(text, /18/);
});

test("ai: generateText with a tool answers in a sentence", async () => {
  const asked = [];
  const weather = async ({ city }) => {
    asked.push(city);
    return { temperature_c: 18, sky: "sunny" };
  };
  const { text, steps } = await generateText({
    model,
    system,
    prompt: question,
    tools: { get_weather: getWeather(weather) },
    stopWhen: stepCountIs(3),
    temperature: 0,
  });
  assert.deepEqual(asked, ["Paris"]);
  assert.equal(steps[0].finishReason, "tool-calls");
  assert.match(text, /18/);
});

test("ai: streamText with a required tool", async () => {
  const { toolCalls } = streamText({
    model,
    prompt: question,
    tools: { get_weather: getWeather() },
    toolChoice: "required",
    temperature: 0,
  });
  const [call] = await toolCalls;
  assert.equal(call.toolName, "get_weather");
  assert.deepEqual(call.input, { city: "Paris" });
});

test("ai: generateObject", async () => {
  const { object } = await generateObject({
    model,
    schema: z.object({ name: z.string(), age: z.number().int() }),
    prompt: "Extract the person: Jason is 25 years old.",
    temperature: 0,
  });
  assert.deepEqual(object, { name: "Jason", age: 25 });
});

test("ai: streamObject grows into the whole object", async () => {
  const schema = z.object({ cities: z.array(z.string()).min(2).max(2) });
  const result = streamObject({ model, schema, prompt: "Name the capitals of France and of Italy.", temperature: 0 });
  const parts = [];
  for await (const part of result.partialObjectStream) parts.push(structuredClone(part));
  const object = await result.object;
  assert.deepEqual(object.cities, ["Paris", "Rome"]);
  assert.ok(parts.length > 2 && !("1" in (parts[0].cities ?? [])), JSON.stringify(parts));
  assert.deepEqual(parts.at(-1), object);
});
