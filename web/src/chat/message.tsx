import type { ComponentChildren } from "preact";
import { memo } from "preact/compat";
import { useMemo, useRef, useState } from "preact/hooks";
import type { Message, ServerToolCall, ToolCall } from "../api/types.ts";
import { copyText, copyWith } from "../ui/copy.ts";
import { Icon, IconButton } from "../ui/icons.tsx";
import { regenerate, resend } from "./actions.ts";
import type { Blocks } from "./blocks.ts";
import { newBlocks, piecesOf, renderBlock } from "./markdown.ts";
import { branchFrom, showVersion } from "./store.ts";
import { shortTime, textOf, tokensPerSecond } from "./text.ts";

const Block = memo(({ text }: { text: string }) => (
  <div class="block" dangerouslySetInnerHTML={{ __html: renderBlock(text) }} />
));

function copyFrom(event: MouseEvent): void {
  const button = (event.target as HTMLElement).closest<HTMLElement>("[data-copy]");
  const code = button?.closest("figure")?.querySelector("code");
  if (button && code) void copyWith(button, code.textContent ?? "");
}

const kLong = 50_000; // characters; what is out of sight of longer texts is not laid out

export function Markdown({ text }: { text: string }) {
  const blocks = useRef<Blocks | null>(null);
  const shown = useMemo(() => {
    blocks.current ??= newBlocks();
    return blocks.current.of(text);
  }, [text]);
  if (shown === null)
    return (
      <div class="markdown long">
        <p class="muted">This text is too long to be formatted, so it is shown as it was written.</p>
        {piecesOf(text).map((piece, index) => (
          <p class="block as-written" key={index}>
            {piece}
          </p>
        ))}
      </div>
    );
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the click is one of the buttons inside
    // biome-ignore lint/a11y/useKeyWithClickEvents: buttons turn keys into clicks
    <div class={`markdown ${text.length > kLong ? "long" : ""}`} onClick={copyFrom}>
      {shown.map((block, index) => (
        <Block key={index} text={block} />
      ))}
    </div>
  );
}

export function Fold(props: { title: ComponentChildren; open?: boolean; children: ComponentChildren }) {
  return (
    <details class="fold" open={props.open}>
      <summary>
        <Icon name="fold" />
        {props.title}
      </summary>
      <div class="inside">{props.children}</div>
    </details>
  );
}

export function Reasoning({ text, isOpen }: { text: string; isOpen?: boolean }) {
  if (!text) return null;
  return (
    <Fold title="Reasoning" open={isOpen}>
      <Markdown text={text} />
    </Fold>
  );
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

export function ToolCalls({ calls }: { calls: ToolCall[] }) {
  return (
    <>
      {calls.map((call) => (
        <Fold
          key={call.id}
          title={
            <>
              Calls <code>{call.function.name}</code>
            </>
          }
        >
          <pre tabIndex={0}>{pretty(call.function.arguments)}</pre>
        </Fold>
      ))}
    </>
  );
}

export function ServerCalls({ calls }: { calls: ServerToolCall[] }) {
  return (
    <>
      {calls.map((call) => (
        <Fold
          key={call.id}
          title={
            <>
              <code>{call.name}</code> {call.status === "in_progress" ? "runs …" : call.status}
            </>
          }
        >
          <pre tabIndex={0}>{pretty(call.arguments)}</pre>
          {call.output && <pre tabIndex={0}>{pretty(call.output)}</pre>}
        </Fold>
      ))}
    </>
  );
}

function Versions({ message }: { message: Message }) {
  const all = message.sibling_ids;
  const at = all.indexOf(message.id);
  if (all.length < 2) return null;
  return (
    <fieldset class="versions">
      <legend class="hidden">Versions of this message</legend>
      <IconButton
        icon="left"
        label="The version before"
        disabled={at <= 0}
        onClick={() => void showVersion(all[at - 1]!)}
      />
      <span>
        {at + 1} / {all.length}
      </span>
      <IconButton
        icon="right"
        label="The next version"
        disabled={at >= all.length - 1}
        onClick={() => void showVersion(all[at + 1]!)}
      />
    </fieldset>
  );
}

const endings: Record<string, string> = {
  length: "cut off at the token limit",
  cancelled: "stopped",
  error: "broken off by an error",
  interrupted: "broken off by a restart",
};

function Figures({ message }: { message: Message }) {
  const parts: string[] = [];
  const { usage, timings } = message;
  if (usage) {
    const cached = usage.prompt_tokens_details?.cached_tokens ?? 0;
    parts.push(`${usage.prompt_tokens} tokens in${cached ? ` (${cached} cached)` : ""}`);
    parts.push(`${usage.completion_tokens} out`);
  }
  if (timings?.first_token_ms != null) parts.push(`first token ${shortTime(timings.first_token_ms)}`);
  const speed = tokensPerSecond(message);
  if (speed !== null) parts.push(`${speed.toFixed(speed < 10 ? 1 : 0)} tok/s`);
  if (message.cost != null)
    parts.push(`cost ${message.cost.toFixed(6).replace(/0+$/, "").replace(/\.$/, "")}`);
  const ending = endings[message.status === "interrupted" ? "interrupted" : (message.finish_reason ?? "")];
  return (
    <p class="figures">
      {message.model && <span class="model">{message.model}</span>}
      {parts.map((part) => (
        <span key={part}>{part}</span>
      ))}
      {ending && <span class="ending">{ending}</span>}
    </p>
  );
}

function Dropped({ message }: { message: Message }) {
  const context = message.context;
  if (!context || context.dropped_messages + context.summarized_messages === 0) return null;
  const left = context.dropped_messages;
  const summed = context.summarized_messages;
  return (
    <div class="dropped">
      {left > 0 && (
        <p>
          {left} older messages did not fit into the {context.window} tokens and were left out.
        </p>
      )}
      {summed > 0 && <p>{summed} older messages were put into a summary.</p>}
      {context.summary && (
        <Fold title="The summary">
          <Markdown text={context.summary} />
        </Fold>
      )}
    </div>
  );
}

function EditForm({ message, onDone }: { message: Message; onDone: () => void }) {
  const [text, setText] = useState(textOf(message));
  return (
    <form
      class="edit"
      onSubmit={(event) => {
        event.preventDefault();
        onDone();
        resend(message, text);
      }}
    >
      <textarea
        aria-label="Edit the message"
        rows={Math.min(12, text.split("\n").length + 1)}
        value={text}
        ref={(area) => area?.focus()}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") onDone();
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey))
            event.currentTarget.form?.requestSubmit();
        }}
      />
      <div class="row end">
        <span class="muted hint">The old version stays, on a branch of its own.</span>
        <button type="button" class="quiet" onClick={onDone}>
          Cancel
        </button>
        <button type="submit" class="primary" disabled={!text.trim()}>
          Send
        </button>
      </div>
    </form>
  );
}

function CopyButton({ text }: { text: string }) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    setDone(await copyText(text));
    setTimeout(() => setDone(false), 1400);
  };
  return <IconButton icon="copy" label={done ? "Copied" : "Copy the text"} onClick={() => void copy()} />;
}

function UserMessage({ message, isBusy }: { message: Message; isBusy: boolean }) {
  const [isEdited, setEdited] = useState(false);
  if (isEdited) return <EditForm message={message} onDone={() => setEdited(false)} />;
  return (
    <>
      <div class="bubble">{textOf(message)}</div>
      <div class="actions">
        <Versions message={message} />
        <CopyButton text={textOf(message)} />
        <IconButton
          icon="edit"
          label="Edit and send again"
          disabled={isBusy}
          onClick={() => setEdited(true)}
        />
      </div>
    </>
  );
}

function AssistantMessage({ message, isBusy }: { message: Message; isBusy: boolean }) {
  return (
    <>
      <Dropped message={message} />
      <Reasoning text={message.reasoning_content ?? ""} />
      <ToolCalls calls={message.tool_calls ?? []} />
      <Markdown text={textOf(message)} />
      <div class="actions">
        <Versions message={message} />
        <CopyButton text={textOf(message)} />
        <IconButton icon="redo" label="Answer again" disabled={isBusy} onClick={() => regenerate(message)} />
        <IconButton
          icon="branch"
          label="Branch from here"
          disabled={isBusy}
          onClick={() => {
            branchFrom.value = message.id;
            document.querySelector<HTMLTextAreaElement>("#prompt")?.focus();
          }}
        />
        <Figures message={message} />
      </div>
    </>
  );
}

interface MessageProps {
  message: Message;
  isBusy: boolean;
  isOut: boolean; // the model was not given it for its last answer
}

/** A message that is stored. It is drawn again only when it changes: answers may be long. */
export const MessageView = memo(({ message, isBusy, isOut }: MessageProps) => {
  if (message.role === "tool")
    return (
      <article class={`message tool ${isOut ? "out" : ""}`} aria-label="Result of a tool">
        <Fold title="Result of a tool">
          <pre tabIndex={0}>{pretty(textOf(message))}</pre>
        </Fold>
      </article>
    );
  const isUser = message.role === "user";
  return (
    <article
      class={`message ${isUser ? "user" : "assistant"} ${isOut ? "out" : ""}`}
      aria-label={isUser ? "You" : "Answer"}
      data-id={message.id}
    >
      {isUser ? (
        <UserMessage message={message} isBusy={isBusy} />
      ) : (
        <AssistantMessage message={message} isBusy={isBusy} />
      )}
    </article>
  );
});
