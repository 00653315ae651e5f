// The parts of OpenAI's API besides chat, with `openai` and `@langchain/openai` from npm.
import assert from "node:assert/strict";
import test from "node:test";
import { HumanMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { ChatOpenAI } from "@langchain/openai";
import OpenAI, { toFile } from "openai";
import { zodResponseFormat } from "openai/helpers/zod";
import { z } from "zod";

const baseURL = process.env.KVASIR_URL + "/v1";
const client = new OpenAI({ baseURL, apiKey: "none", maxRetries: 0 });
const configuration = { baseURL, apiKey: "none" };
const chat = (options = {}) =>
  new ChatOpenAI({ model: "qwen2.5-coder", temperature: 0, maxTokens: 120, maxRetries: 0, apiKey: "none", configuration, ...options });

test("moderations say that nothing was looked at", async () => {
  const answer = await client.moderations.create({ input: "words" });
  assert.equal(answer.results[0].flagged, false);
  assert.match(answer.warnings[0], /no classifier/);
});

test("a structured answer is parsed", async () => {
  const schema = z.object({ name: z.string(), age: z.number().int() });
  const completion = await client.chat.completions.parse({
    model: "qwen2.5-coder",
    messages: [{ role: "user", content: "Extract the person: Jason is 25 years old." }],
    response_format: zodResponseFormat(schema, "person"),
    temperature: 0,
  });
  assert.deepEqual(completion.choices[0].message.parsed, { name: "Jason", age: 25 });
});

test("langchain: an answer, and the same streamed", async () => {
  const messages = [new HumanMessage("What is 2+2? Answer with the number alone.")];
  const whole = await chat().invoke(messages);
  assert.match(whole.content, /4/);
  assert.ok(whole.usage_metadata.output_tokens > 0);
  let text = "";
  for await (const chunk of await chat().stream(messages)) text += chunk.content;
  assert.equal(text, whole.content);
});

test("langchain: a tool is called", async () => {
  const weather = tool(async () => "sunny", {
    name: "get_weather",
    description: "Get the current weather of a city",
    schema: z.object({ city: z.string() }),
  });
  const answer = await chat().bindTools([weather], { tool_choice: "any" }).invoke("What is the weather in Paris?");
  assert.equal(answer.tool_calls[0].name, "get_weather");
  assert.deepEqual(answer.tool_calls[0].args, { city: "Paris" });
});

test("langchain: a structured answer", async () => {
  const schema = z.object({ name: z.string(), age: z.number().int() });
  const person = await chat().withStructuredOutput(schema, { method: "jsonSchema" }).invoke("Jason is 25 years old.");
  assert.deepEqual(person, { name: "Jason", age: 25 });
});

test("embeddings of a model that makes none are refused by name", async () => {
  await assert.rejects(client.embeddings.create({ model: "smollm2", input: "x" }), (error) => {
    assert.ok(error instanceof OpenAI.BadRequestError);
    assert.equal(error.code, "model_not_supported");
    return true;
  });
});

test("files: uploaded, listed, read, deleted", async () => {
  const text = "one\ntwo\n";
  const file = await client.files.create({ file: await toFile(Buffer.from(text), "notes.txt"), purpose: "user_data" });
  assert.equal(file.bytes, text.length);
  const ids = [];
  for await (const one of client.files.list({ limit: 100 })) ids.push(one.id);
  assert.ok(ids.includes(file.id));
  assert.equal(await (await client.files.content(file.id)).text(), text);
  assert.ok((await client.files.delete(file.id)).deleted);
  await assert.rejects(client.files.retrieve(file.id), OpenAI.NotFoundError);
});

test("batches: from a file of requests to a file of answers", async () => {
  const body = { model: "smollm2", messages: [{ role: "user", content: "What is 2+2?" }], max_tokens: 12, temperature: 0 };
  const lines = [body, { ...body, temperature: 9 }].map((one, i) =>
    JSON.stringify({ custom_id: `line-${i}`, method: "POST", url: "/v1/chat/completions", body: one }),
  );
  const input = await client.files.create({ file: await toFile(Buffer.from(lines.join("\n")), "in.jsonl"), purpose: "batch" });
  let batch = await client.batches.create({ input_file_id: input.id, endpoint: "/v1/chat/completions", completion_window: "24h" });
  for (const deadline = Date.now() + 60_000; batch.status !== "completed"; batch = await client.batches.retrieve(batch.id))
    assert.ok(Date.now() < deadline, `the batch is still ${batch.status}`);
  assert.deepEqual(batch.request_counts, { total: 2, completed: 1, failed: 1 });
  const rows = async (id) => (await (await client.files.content(id)).text()).trim().split("\n").map(JSON.parse);
  const [answer] = await rows(batch.output_file_id);
  assert.equal(answer.custom_id, "line-0");
  const direct = await client.chat.completions.create(body);
  assert.deepEqual(answer.response.body.choices[0].message, direct.choices[0].message);
  const [wrong] = await rows(batch.error_file_id);
  assert.equal(wrong.response.status_code, 400);
  assert.equal(wrong.response.body.error.param, "temperature");
});
