import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import type { Conversation } from "../api/types.ts";
import { Icon, IconButton } from "../ui/icons.tsx";
import { pathOf } from "../ui/route.ts";
import { newChat } from "./actions.ts";
import { runs } from "./runs.ts";
import { change, conversations, currentId, remove } from "./store.ts";
import { dayOf } from "./text.ts";

const search = signal("");
const kMostShown = 150; // entries at first; thousands would make every stroke of a key slow

function hasWords(title: string, words: string[]): boolean {
  const text = title.toLowerCase();
  return words.every((word) => text.includes(word));
}

function Rename({ conversation, onDone }: { conversation: Conversation; onDone: () => void }) {
  const save = (input: HTMLInputElement) => {
    const title = input.value.trim();
    if (title && title !== conversation.title) void change(conversation.id, { title });
    onDone();
  };
  return (
    <input
      class="rename"
      aria-label="Title of the conversation"
      value={conversation.title ?? ""}
      ref={(input) => input?.select()}
      onBlur={(event) => save(event.currentTarget)}
      onKeyDown={(event) => {
        if (event.key === "Enter") save(event.currentTarget);
        if (event.key === "Escape") onDone();
      }}
    />
  );
}

function Entry({ conversation, onChoose }: { conversation: Conversation; onChoose: () => void }) {
  const [mode, setMode] = useState<"" | "rename" | "delete">("");
  const isCurrent = conversation.id === currentId.value;
  const title = conversation.title ?? "New conversation";
  if (mode === "rename")
    return (
      <li class="entry">
        <Rename conversation={conversation} onDone={() => setMode("")} />
      </li>
    );
  if (mode === "delete")
    return (
      <li class="entry confirm">
        <span>Delete it?</span>
        <button type="button" class="danger small" onClick={() => void remove(conversation.id)}>
          Delete
        </button>
        <button type="button" class="quiet small" onClick={() => setMode("")}>
          Keep
        </button>
      </li>
    );
  return (
    <li class={`entry ${isCurrent ? "current" : ""}`}>
      <a
        href={pathOf("chat", conversation.id)}
        aria-current={isCurrent ? "page" : undefined}
        title={title}
        onClick={onChoose}
      >
        {runs.value[conversation.id] && !runs.value[conversation.id]?.error && (
          <span class="working" role="img" aria-label="An answer is being written" />
        )}
        <span class="title">{title}</span>
      </a>
      <span class="tools">
        <IconButton icon="edit" label={`Rename ${title}`} onClick={() => setMode("rename")} />
        <IconButton icon="trash" label={`Delete ${title}`} onClick={() => setMode("delete")} />
      </span>
    </li>
  );
}

/** The conversations, newest first. */
export function Sidebar({ onChoose }: { onChoose: () => void }) {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const [most, setMost] = useState(kMostShown);
  const found = conversations.value.filter((one) => hasWords(one.title ?? "", words));
  const now = new Date();
  const days = new Map<string, Conversation[]>();
  for (const one of found.slice(0, most)) {
    const day = dayOf(one.updated_at, now);
    days.set(day, [...(days.get(day) ?? []), one]);
  }
  return (
    <div class="conversations">
      <button
        type="button"
        class="new"
        onClick={() => {
          newChat();
          onChoose();
        }}
      >
        <Icon name="plus" /> New chat
      </button>
      <label class="search">
        <Icon name="search" />
        <input
          id="search"
          type="search"
          placeholder="Search"
          aria-label="Search conversations"
          value={search.value}
          onInput={(event) => {
            search.value = event.currentTarget.value;
          }}
        />
      </label>
      <nav class="list" aria-label="Conversations">
        {[...days].map(([day, list]) => (
          <section key={day}>
            <h2>{day}</h2>
            <ul>
              {list.map((one) => (
                <Entry key={one.id} conversation={one} onChoose={onChoose} />
              ))}
            </ul>
          </section>
        ))}
        {found.length > most && (
          <button type="button" class="quiet small more" onClick={() => setMost(most + kMostShown)}>
            Show more of {found.length.toLocaleString("en")}
          </button>
        )}
        {found.length === 0 && (
          <p class="muted none">
            {words.length > 0 ? "No title has these words." : "Your conversations will be here."}
          </p>
        )}
      </nav>
    </div>
  );
}
