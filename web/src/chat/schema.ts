/** The `response_format` of a schema that was pasted: a JSON schema, or one in OpenAI's wrapping. */
export function formatOf(text: string): unknown {
  if (!text.trim()) return null;
  const pasted = JSON.parse(text);
  if (typeof pasted !== "object" || pasted === null || Array.isArray(pasted))
    throw new Error("A schema is a JSON object.");
  if (pasted.type === "json_schema" || pasted.type === "json_object") return pasted;
  if (pasted.schema && pasted.name) return { type: "json_schema", json_schema: pasted };
  return { type: "json_schema", json_schema: { name: "answer", schema: pasted } };
}

/** The schema in a `response_format`, as text to edit. */
export function schemaText(format: unknown): string {
  if (!format || typeof format !== "object") return "";
  const { json_schema } = format as { json_schema?: { schema?: unknown } };
  return JSON.stringify(json_schema?.schema ?? format, null, 2);
}
