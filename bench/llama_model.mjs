// Shared by both llama.cpp programs: loads the model with node-llama-cpp's prebuilt binaries, on the CPU
// only.
import {getLlama} from "node-llama-cpp";

export function flags(defaults) {
  const values = {...defaults};
  for (let i = 2; i < process.argv.length; i += 2) {
    const name = process.argv[i].replace(/^--/, "");
    if (!(name in values) || process.argv[i + 1] === undefined) {
      console.error(`unknown flag or no value: ${process.argv[i]}`);
      process.exit(2);
    }
    values[name] = process.argv[i + 1];
  }
  return values;
}

export async function open(path, threads) {
  const llama = await getLlama({gpu: false, build: "never", skipDownload: true, maxThreads: threads, logLevel: "error"});
  const model = await llama.loadModel({modelPath: path, gpuLayers: 0});
  return {llama, model};
}

// One context for `sequences` streams of up to `tokens` tokens each.
export function contextFor(model, {sequences, tokens, threads}) {
  return model.createContext({
    sequences, contextSize: tokens, batchSize: 512, threads: {ideal: threads, min: threads}, ignoreMemorySafetyChecks: true
  });
}

// ChatML, which the benchmark's models use.
export function chatPrompt(messages) {
  const turns = messages.map((m) => `<|im_start|>${m.role}\n${m.content}<|im_end|>\n`);
  return turns.join("") + "<|im_start|>assistant\n";
}
