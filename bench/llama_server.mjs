// llama.cpp with just enough of the OpenAI API for `kvasir bench serve`: streamed chat completions and
// completions, with continuous batching over a fixed number of sequences. Requests that find no free sequence
// wait in order.
//   node llama_server.mjs --model FILE.gguf --threads N --port P --sequences 32 --context 1024
import http from "node:http";
import {chatPrompt, contextFor, flags, open} from "./llama_model.mjs";

const options = flags({model: "", threads: "2", port: "8090", sequences: "32", context: "1024", name: "llama.cpp"});
const threads = Number(options.threads);
const {model} = await open(options.model, threads);
const context = await contextFor(model, {sequences: Number(options.sequences), tokens: Number(options.context), threads});
const free = Array.from({length: Number(options.sequences)}, () => context.getSequence());
const waiting = [];

function takeSequence() {
  if (free.length > 0) return Promise.resolve(free.pop());
  return new Promise((resolve) => waiting.push(resolve));
}

async function giveBack(sequence) {
  await sequence.clearHistory();
  const next = waiting.shift();
  if (next) next(sequence);
  else free.push(sequence);
}

function refuse(response, status, message) {
  response.writeHead(status, {"Content-Type": "application/json"});
  response.end(JSON.stringify({error: {message}}));
}

async function generate(request, response, isChat) {
  const prompt = isChat ? chatPrompt(request.messages) : request.prompt;
  const tokens = model.tokenize(prompt, true);
  const limit = request.max_tokens ?? 64;
  if (tokens.length + limit > Number(options.context)) return refuse(response, 400, "over the context");
  const sequence = await takeSequence();
  let gone = false;
  response.on("close", () => { gone = true; });
  response.writeHead(200, {"Content-Type": "text/event-stream"});
  const send = (event) => response.write(`data: ${JSON.stringify(event)}\n\n`);
  let count = 0;
  let finish = "length";
  try {
    const sampling = {temperature: request.temperature ?? 1, yieldEogToken: true};
    for await (const token of sequence.evaluate(tokens, sampling)) {
      count++;
      if (model.isEogToken(token) && !request.ignore_eos) { finish = "stop"; break; }
      const text = model.detokenize([token]) || " ";
      send({choices: [isChat ? {index: 0, delta: {content: text}} : {index: 0, text}]});
      if (gone || count >= limit) break;
    }
    send({choices: [isChat ? {index: 0, delta: {}, finish_reason: finish} : {index: 0, text: "", finish_reason: finish}]});
    if (request.stream_options?.include_usage)
      send({choices: [], usage: {prompt_tokens: tokens.length, completion_tokens: count}});
    response.end("data: [DONE]\n\n");
  } catch (error) {
    send({error: {message: String(error)}});
    response.end();
  } finally {
    await giveBack(sequence);
  }
}

const server = http.createServer((request, response) => {
  if (request.method === "GET") {
    response.writeHead(200, {"Content-Type": "application/json"});
    response.end(JSON.stringify({data: [{id: options.name}]}));
    return;
  }
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    let body;
    try {
      body = JSON.parse(Buffer.concat(chunks).toString());
    } catch {
      return refuse(response, 400, "not JSON");
    }
    generate(body, response, request.url.endsWith("/chat/completions")).catch((error) => {
      console.error(error);
      response.destroy();
    });
  });
});
server.keepAliveTimeout = 60000;
server.listen(Number(options.port), "127.0.0.1", () => console.log(`ready on ${options.port}`));
