/** What a request of the playground is. */
export interface Raw {
  method: string;
  path: string;
  body: string;
}

const quoteForShell = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

export function curlOf(raw: Raw, origin: string, hasKey: boolean): string {
  const lines = [`curl ${origin}${raw.path}`];
  if (raw.method !== "GET" && !(raw.method === "POST" && raw.body)) lines[0] += ` -X ${raw.method}`;
  if (hasKey) lines.push(`  -H "Authorization: Bearer $KVASIR_API_KEY"`);
  if (raw.method !== "GET" && raw.body) {
    lines.push("  -H 'Content-Type: application/json'", `  -d ${quoteForShell(raw.body)}`);
  }
  return lines.join(" \\\n");
}

// The methods of OpenAI's Python client by path; other paths have none.
const calls: Record<string, string> = {
  "/v1/chat/completions": "chat.completions.create",
  "/v1/completions": "completions.create",
  "/v1/responses": "responses.create",
  "/v1/embeddings": "embeddings.create",
};

// Fields that the client's methods name; the rest goes into extra_body.
const own = new Set(
  (
    "model messages input prompt stream stream_options temperature top_p max_tokens max_completion_tokens " +
    "max_output_tokens n stop seed tools tool_choice response_format logprobs top_logprobs instructions " +
    "frequency_penalty presence_penalty logit_bias metadata dimensions encoding_format text store"
  ).split(" "),
);

function python(value: unknown, indent = "    "): string {
  if (value === null) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (Array.isArray(value)) return `[${value.map((one) => python(one, indent)).join(", ")}]`;
  if (typeof value === "object")
    return `{${Object.entries(value)
      .map(([name, one]) => `${JSON.stringify(name)}: ${python(one, indent)}`)
      .join(", ")}}`;
  return JSON.stringify(value);
}

/** The same with OpenAI's Python client, or null where it has no method for it. */
export function openaiOf(raw: Raw, origin: string, hasKey: boolean): string | null {
  const call = calls[raw.path];
  if (!call || raw.method !== "POST") return null;
  let fields: Record<string, unknown>;
  try {
    fields = JSON.parse(raw.body);
  } catch {
    return null;
  }
  const given = Object.entries(fields).filter(([name]) => own.has(name));
  const extra = Object.fromEntries(Object.entries(fields).filter(([name]) => !own.has(name)));
  const lines = given.map(([name, value]) => `    ${name}=${python(value)},`);
  if (Object.keys(extra).length) lines.push(`    extra_body=${python(extra)},`);
  const key = hasKey ? 'os.environ["KVASIR_API_KEY"]' : '"none"';
  const made = `client = OpenAI(base_url="${origin}/v1", api_key=${key})`;
  const head = `${hasKey ? "import os\n\n" : ""}from openai import OpenAI\n\n${made}`;
  const request = `client.${call}(\n${lines.join("\n")}\n)`;
  if (fields.stream) return `${head}\nfor event in ${request}:\n    print(event)\n`;
  return `${head}\nanswer = ${request}\nprint(answer)\n`;
}
