// Embeddings with `openai` and `@langchain/openai` from npm.
import assert from "node:assert/strict";
import test from "node:test";
import { OpenAIEmbeddings } from "@langchain/openai";
import OpenAI from "openai";

const baseURL = process.env.KVASIR_URL + "/v1";
const client = new OpenAI({ baseURL, apiKey: "none", maxRetries: 0 });
const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);

test("openai: what means the same is near", async () => {
  const input = ["A cat sleeps on the roof.", "A kitten naps on top of the house.", "The stock market fell today."];
  const { data, usage } = await client.embeddings.create({ model: "minilm", input });
  const [cat, kitten, market] = data.map((row) => row.embedding);
  assert.equal(cat.length, 384);
  assert.ok(dot(cat, kitten) > dot(cat, market) + 0.3);
  assert.ok(usage.prompt_tokens > 15);
});

test("langchain: documents and a query", async () => {
  const embeddings = new OpenAIEmbeddings({ model: "minilm", apiKey: "none", configuration: { baseURL }, maxRetries: 0 });
  const documents = await embeddings.embedDocuments(["Paris is the capital of France.", "Bananas are yellow."]);
  const query = await embeddings.embedQuery("Which city is France's capital?");
  assert.ok(dot(documents[0], query) > dot(documents[1], query) + 0.3);
});
