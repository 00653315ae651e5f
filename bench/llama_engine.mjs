// Measures llama.cpp's prefill and decode in the way that `kvasir bench engine` measures Kvasir's. Prints a
// JSON object for each figure as soon as it is known.
//   node llama_engine.mjs --model FILE.gguf --threads N --prompt 128,512 --batch 1,8 --gen 32 --depth 128
import {chatPrompt, contextFor, flags, open} from "./llama_model.mjs";

const options = flags({model: "", threads: "2", prompt: "128,512", batch: "1,4,16,32", gen: "32", depth: "128"});
const list = (text) => text === "" ? [] : text.split(",").map(Number);
const threads = Number(options.threads);
const gen = Number(options.gen);
const depth = Number(options.depth);
const warmSteps = 2;
const {model} = await open(options.model, threads);
const vocabulary = model.fileInfo.metadata?.tokenizer?.ggml?.tokens?.length ?? 30000;

// Ordinary tokens, different ones each time.
let state = 12345;
function randomTokens(count) {
  return Array.from({length: count}, () => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return 300 + state % (Math.min(vocabulary, 30000) - 400);
  });
}

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

async function answer(question) {
  const context = await contextFor(model, {sequences: 1, tokens: 512, threads});
  const sequence = context.getSequence();
  const tokens = model.tokenize(chatPrompt([{role: "user", content: question}]), true);
  const output = [];
  for await (const token of sequence.evaluate(tokens, {temperature: 0})) {
    if (model.isEogToken(token) || output.length === 24) break;
    output.push(token);
  }
  const text = model.detokenize(output);
  await context.dispose();
  return text;
}

async function prefill(count) {
  const context = await contextFor(model, {sequences: 1, tokens: count + 64, threads});
  const sequence = context.getSequence();
  const seconds = [];
  for (let round = 0, total = 0; round < 3 && (round === 0 || total < 4); round++) {
    await sequence.clearHistory();
    const tokens = randomTokens(count);
    const start = performance.now();
    for await (const token of sequence.evaluate(tokens, {temperature: 0})) break;
    seconds.push((performance.now() - start) / 1000);
    total += seconds.at(-1);
  }
  await context.dispose();
  return {tokens: count, seconds: median(seconds), tokens_per_s: count / median(seconds)};
}

// All sequences advance together. A step ends when each has its next token.
async function decode(batch) {
  const context = await contextFor(model, {sequences: batch, tokens: depth + gen + 64, threads});
  const streams = [];
  for (let i = 0; i < batch; i++) {
    const sequence = context.getSequence();
    const prompt = randomTokens(depth);
    await sequence.evaluateWithoutGeneratingNewTokens(prompt.slice(0, -1));
    streams.push(sequence.evaluate(prompt.slice(-1), {temperature: 0, yieldEogToken: true}));
  }
  const step = () => Promise.all(streams.map((stream) => stream.next()));
  for (let i = 0; i < warmSteps; i++) await step();
  const steps = [];
  const start = performance.now();
  for (let i = 0; i < gen; i++) {
    const begin = performance.now();
    await step();
    steps.push(performance.now() - begin);
  }
  const seconds = (performance.now() - start) / 1000;
  await context.dispose();
  return {batch, depth, tokens_per_s: batch * gen / seconds, step_ms: median(steps)};
}

const print = (figure) => console.log(JSON.stringify(figure));
print({answer: await answer("What is the capital of France?")});
await prefill(64);
for (const count of list(options.prompt)) print({prefill: await prefill(count)});
for (const batch of list(options.batch)) print({decode: await decode(batch)});
process.exit(0);
