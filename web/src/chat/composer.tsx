import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { Icon, IconButton } from "../ui/icons.tsx";
import { send, stopCurrent } from "./actions.ts";
import { branchFrom, chatModels, chosenModel, currentRun, messages, problem, setChoices } from "./store.ts";
import { type Attachment, textOf, withAttachments } from "./text.ts";

const kMaxFileBytes = 1 << 20;

export const attachments = signal<Attachment[]>([]);

/** Takes files that are text. */
export async function attach(files: Iterable<File>): Promise<void> {
  for (const file of files) {
    if (file.size > kMaxFileBytes) {
      problem.value = `${file.name} is larger than 1 MiB.`;
      continue;
    }
    const text = await file.text();
    if (text.includes("\0") || text.includes("\ufffd")) {
      problem.value = `${file.name} is not a text file.`;
      continue;
    }
    attachments.value = [...attachments.value, { name: file.name, text }];
  }
}

function ModelPicker() {
  return (
    <label class="picker">
      <span class="hidden">Model</span>
      <select
        id="model"
        value={chosenModel.value}
        onChange={(event) => void setChoices({ model: event.currentTarget.value })}
      >
        {chatModels.value.every((model) => model.id !== chosenModel.value) && (
          <option value={chosenModel.value}>no model is ready yet</option>
        )}
        {chatModels.value.map((model) => (
          <option key={model.id} value={model.id} disabled={!model.ready}>
            {model.id === "auto" ? "auto (the server chooses)" : model.id}
            {model.ready ? "" : ` · ${model.state}`}
          </option>
        ))}
      </select>
    </label>
  );
}

function Chips() {
  if (attachments.value.length === 0) return null;
  return (
    <ul class="chips" aria-label="Files">
      {attachments.value.map((file, index) => (
        <li key={`${file.name}-${file.text.length}`}>
          {file.name}
          <span class="muted">{file.text.length.toLocaleString("en")} characters</span>
          <IconButton
            icon="close"
            label={`Remove ${file.name}`}
            onClick={() => {
              attachments.value = attachments.value.filter((_, at) => at !== index);
            }}
          />
        </li>
      ))}
    </ul>
  );
}

function BranchNote() {
  const from = messages.value.find((one) => one.id === branchFrom.value);
  if (!from) return null;
  return (
    <p class="branch-note">
      <Icon name="branch" />
      <span>
        A new branch after “{textOf(from).slice(0, 60).trim()}
        {textOf(from).length > 60 ? "…" : ""}”
      </span>
      <IconButton
        icon="close"
        label="No branch"
        onClick={() => {
          branchFrom.value = null;
        }}
      />
    </p>
  );
}

export function Composer({ onSettings }: { onSettings: () => void }) {
  const [text, setText] = useState("");
  const area = useRef<HTMLTextAreaElement>(null);
  const file = useRef<HTMLInputElement>(null);
  const run = currentRun.value;
  const isBusy = run !== null && !run.error;
  const canSend = !isBusy && (text.trim() !== "" || attachments.value.length > 0) && chosenModel.value !== "";

  useEffect(() => {
    const element = area.current!;
    element.style.height = "auto";
    element.style.height = `${Math.min(element.scrollHeight, 320)}px`;
  }, [text]);

  const submit = async () => {
    if (!canSend) return;
    const files = attachments.value;
    setText("");
    attachments.value = [];
    if (await send(withAttachments(text.trim(), files))) return;
    setText(text); // nothing that was written is lost
    attachments.value = files;
  };

  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <BranchNote />
      <Chips />
      <textarea
        id="prompt"
        ref={area}
        rows={1}
        placeholder="Ask anything"
        aria-label="Message"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onPaste={(event) => {
          const files = event.clipboardData?.files;
          if (!files?.length) return;
          event.preventDefault();
          void attach(files);
        }}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
          event.preventDefault();
          void submit();
        }}
      />
      <div class="bar">
        <IconButton icon="clip" label="Add a text file" onClick={() => file.current?.click()} />
        <input
          ref={file}
          type="file"
          multiple
          hidden
          onChange={(event) => {
            void attach(event.currentTarget.files ?? []);
            event.currentTarget.value = "";
          }}
        />
        <IconButton icon="sliders" label="Settings of this conversation" onClick={onSettings} />
        <ModelPicker />
        <span class="grow" />
        <span class="muted hint keys">Enter sends, Shift+Enter breaks the line</span>
        {isBusy ? (
          <button type="button" class="send stop" aria-label="Stop" title="Stop (Esc)" onClick={stopCurrent}>
            <Icon name="stop" />
          </button>
        ) : (
          <button type="submit" class="send" aria-label="Send" title="Send (Enter)" disabled={!canSend}>
            <Icon name="send" />
          </button>
        )}
      </div>
    </form>
  );
}
