import { useEffect, useState } from "preact/hooks";
import { get } from "../api/client.ts";
import type { List, Settings } from "../api/types.ts";
import { Dialog } from "../ui/dialog.tsx";
import { formatOf, schemaText } from "./schema.ts";
import { choicesOf, current, setChoices } from "./store.ts";

interface NumberSetting {
  name: string;
  label: string;
  hint: string;
  min: number;
  max: number;
  step: number;
}

const numbers: NumberSetting[] = [
  {
    name: "temperature",
    label: "Temperature",
    hint: "0 always takes the likeliest token",
    min: 0,
    max: 2,
    step: 0.1,
  },
  { name: "top_p", label: "Top p", hint: "the likeliest tokens of this mass", min: 0, max: 1, step: 0.05 },
  { name: "top_k", label: "Top k", hint: "the likeliest tokens of this number", min: 0, max: 1000, step: 1 },
  { name: "max_tokens", label: "Longest answer", hint: "in tokens", min: 1, max: 1_000_000, step: 1 },
  {
    name: "frequency_penalty",
    label: "Frequency penalty",
    hint: "against repetition",
    min: -2,
    max: 2,
    step: 0.1,
  },
  { name: "seed", label: "Seed", hint: "the same one gives the same answer", min: 0, max: 2 ** 53, step: 1 },
];

type Values = Record<string, string>;

function asText(settings: Settings): Values {
  return Object.fromEntries(
    numbers.map(({ name }) => [name, settings[name] == null ? "" : String(settings[name])]),
  );
}

// The settings with the numbers that were given; an empty field is the server's default.
function asSettings(old: Settings, values: Values, format: unknown, tools: string[]): Settings {
  const settings: Settings = { ...old };
  for (const { name } of numbers) {
    if (values[name]) settings[name] = Number(values[name]);
    else delete settings[name];
  }
  if (format) settings.response_format = format;
  else delete settings.response_format;
  if (tools.length > 0) settings.server_tools = tools;
  else delete settings.server_tools;
  return settings;
}

/** The tools that the server runs itself, of which the model may call those that are ticked. */
function ServerTools({ chosen, onChange }: { chosen: string[]; onChange: (chosen: string[]) => void }) {
  const [names, setNames] = useState<string[]>([]);
  useEffect(() => {
    get<List<{ id: string }>>("/v1/server_tools").then(
      (list) => setNames(list.data.map((tool) => tool.id)),
      () => {},
    );
  }, []);
  if (names.length === 0) return null;
  return (
    <fieldset class="ticks">
      <legend>Tools that the server runs</legend>
      {names.map((name) => (
        <label key={name}>
          <input
            type="checkbox"
            checked={chosen.includes(name)}
            onChange={(event) =>
              onChange(event.currentTarget.checked ? [...chosen, name] : chosen.filter((one) => one !== name))
            }
          />
          {name}
        </label>
      ))}
    </fieldset>
  );
}

/** System prompt, sampling and structured output of the conversation that is shown, or of the next one. */
export function SettingsDialog({ onClose }: { onClose: () => void }) {
  const choices = choicesOf(current.value);
  const [systemPrompt, setSystemPrompt] = useState(choices.systemPrompt);
  const [policy, setPolicy] = useState(choices.contextPolicy);
  const [values, setValues] = useState(asText(choices.settings));
  const [schema, setSchema] = useState(schemaText(choices.settings.response_format));
  const [tools, setTools] = useState(choices.settings.server_tools ?? []);
  const [wrong, setWrong] = useState("");
  const save = (event: Event) => {
    event.preventDefault();
    try {
      const settings = asSettings(choices.settings, values, formatOf(schema), tools);
      void setChoices({ systemPrompt, contextPolicy: policy, settings });
      onClose();
    } catch (error) {
      setWrong(`The schema is not JSON: ${(error as Error).message}`);
    }
  };
  return (
    <Dialog title="Settings" class="wide" onClose={onClose}>
      <form onSubmit={save}>
        <label class="field">
          <span>System prompt</span>
          <textarea
            autofocus
            rows={4}
            placeholder="How the model should answer"
            value={systemPrompt}
            onInput={(event) => setSystemPrompt(event.currentTarget.value)}
          />
        </label>
        <div class="grid">
          {numbers.map(({ name, label, hint, min, max, step }) => (
            <label class="field" key={name}>
              <span>{label}</span>
              <input
                type="number"
                placeholder="default"
                min={min}
                max={max}
                step={step}
                value={values[name]}
                onInput={(event) => setValues({ ...values, [name]: event.currentTarget.value })}
              />
              <small class="muted">{hint}</small>
            </label>
          ))}
        </div>
        <label class="field">
          <span>When the conversation outgrows the context</span>
          <select value={policy} onChange={(event) => setPolicy(event.currentTarget.value)}>
            <option value="sliding_window">leave the oldest turns out</option>
            <option value="summarize">summarize the oldest turns</option>
            <option value="error">answer with an error</option>
          </select>
        </label>
        <label class="field">
          <span>Structured output</span>
          <textarea
            rows={5}
            class="mono"
            spellcheck={false}
            placeholder="Paste a JSON schema, and every answer fits it"
            value={schema}
            onInput={(event) => {
              setSchema(event.currentTarget.value);
              setWrong("");
            }}
          />
        </label>
        <ServerTools chosen={tools} onChange={setTools} />
        {wrong && (
          <p class="error-text" role="alert">
            {wrong}
          </p>
        )}
        <div class="row end">
          <button type="button" class="quiet" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="primary">
            Save
          </button>
        </div>
      </form>
    </Dialog>
  );
}
