// The official `openai` package from npm against the running server: node openai.mjs BASE_URL
import assert from "node:assert/strict";
import test from "node:test";
import OpenAI from "openai";

const client = new OpenAI({ baseURL: process.env.KVASIR_URL + "/v1", apiKey: "none", maxRetries: 0 });
const ask = (options = {}, request = {}) =>
  client.chat.completions.create(
    {
      model: "smollm2",
      messages: [{ role: "user", content: "What is 2+2?" }],
      temperature: 0,
      max_tokens: 24,
      ...options,
    },
    request,
  );

async function textOf(stream) {
  let text = "";
  for await (const chunk of stream) text += chunk.choices[0]?.delta?.content ?? "";
  return text;
}

test("an answer, and the same streamed", async () => {
  const answer = await ask();
  assert.match(answer.choices[0].message.content, /4/);
  assert.equal(answer.choices[0].finish_reason, "stop");
  assert.equal(await textOf(await ask({ stream: true })), answer.choices[0].message.content);
});

test("the streaming helper's final completion", async () => {
  const runner = client.chat.completions.stream({
    model: "smollm2",
    messages: [{ role: "user", content: "What is 2+2?" }],
    temperature: 0,
    max_tokens: 24,
    stream_options: { include_usage: true },
  });
  const final = await runner.finalChatCompletion();
  assert.equal(final.choices[0].message.content, (await ask()).choices[0].message.content);
  assert.ok((await runner.totalUsage()).completion_tokens > 3);
});

test("stop, n, logprobs", async () => {
  const whole = (await ask()).choices[0].message.content;
  const word = whole.split(" ")[2];
  const stopped = await ask({ stop: word });
  assert.equal(stopped.choices[0].message.content, whole.slice(0, whole.indexOf(word)));
  assert.equal((await ask({ n: 2 })).choices.length, 2);
  const { content } = (await ask({ logprobs: true, top_logprobs: 2 })).choices[0].logprobs;
  assert.equal(content.map((t) => t.token).join(""), whole);
});

test("an abort ends the stream for the client and the sequence for the server", async () => {
  const controller = new AbortController();
  const stream = await ask({ stream: true, max_tokens: 4000, ignore_eos: true }, { signal: controller.signal });
  let chunks = 0;
  for await (const chunk of stream) {
    if (chunk.choices.length && ++chunks === 3) controller.abort();
  }
  assert.ok(chunks >= 3 && chunks < 4000);
  for (const deadline = Date.now() + 10_000; ; ) {
    const metrics = await (await fetch(process.env.KVASIR_URL + "/metrics")).text();
    if (/^llm_sequences_running\{[^}]*smollm2[^}]*\} 0$/m.test(metrics)) break;
    assert.ok(Date.now() < deadline, "the sequence still runs");
  }
});

test("error classes", async () => {
  await assert.rejects(ask({ model: "nope" }), OpenAI.NotFoundError);
  await assert.rejects(ask({ temperature: 9 }), (error) => {
    assert.ok(error instanceof OpenAI.BadRequestError);
    assert.equal(error.param, "temperature");
    return true;
  });
  await assert.rejects(ask({ stream: true, messages: [{ role: "user", content: "word ".repeat(20000) }] }), (error) => {
    assert.equal(error.code, "context_length_exceeded");
    return true;
  });
});

test("models and completions", async () => {
  const ids = [];
  for await (const model of client.models.list()) ids.push(model.id);
  assert.ok(ids.includes("smollm2") && ids.includes("qwen2.5-coder"));
  const answer = await client.completions.create({
    model: "smollm2",
    prompt: "The capital of France is",
    max_tokens: 6,
    temperature: 0,
  });
  assert.match(answer.choices[0].text, /Paris/);
});
