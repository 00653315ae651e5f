import { useEffect, useState } from "preact/hooks";
import { keys } from "./api/client.ts";
import { Chat } from "./chat/chat.tsx";
import { Sidebar } from "./chat/sidebar.tsx";
import { current } from "./chat/store.ts";
import { Machine } from "./machine/machine.tsx";
import { Playground } from "./playground/playground.tsx";
import { Tenants } from "./tenants/tenants.tsx";
import { Dialog } from "./ui/dialog.tsx";
import { Icon, IconButton, type IconName } from "./ui/icons.tsx";
import { KeptKeys } from "./ui/kept_keys.tsx";
import { KeyDialog } from "./ui/key_dialog.tsx";
import { pathOf, route, type View } from "./ui/route.ts";
import { listenToKeys, shortcuts } from "./ui/shortcuts.ts";
import { theme, toggleTheme } from "./ui/theme.ts";

const views: { view: View; label: string; icon: IconName }[] = [
  { view: "chat", label: "Chat", icon: "chat" },
  { view: "machine", label: "Machine", icon: "pulse" },
  { view: "tenants", label: "Tenants", icon: "people" },
  { view: "playground", label: "Playground", icon: "terminal" },
];

function Views({ onChoose }: { onChoose: () => void }) {
  return (
    <nav class="views" aria-label="Views">
      {views.map(({ view, label, icon }) => (
        <a
          key={view}
          href={pathOf(view)}
          aria-current={route.value.view === view ? "page" : undefined}
          onClick={onChoose}
        >
          <Icon name={icon} />
          {label}
        </a>
      ))}
    </nav>
  );
}

function Help({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl class="shortcuts">
        {shortcuts.map(([keys, what]) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}

const titles: Record<View, string> = {
  chat: "Kvasir",
  machine: "Machine",
  tenants: "Tenants",
  playground: "Playground",
};

export function App() {
  const [isOpen, setOpen] = useState(false); // the side, on a narrow screen
  const [showsHelp, setShowsHelp] = useState(false);
  const [showsKeys, setShowsKeys] = useState(false);
  const view = route.value.view;
  const title = view === "chat" ? (current.value?.title ?? "New chat") : titles[view];
  useEffect(() => listenToKeys(() => setShowsHelp(true)), []);
  useEffect(() => {
    document.title = title === "Kvasir" ? title : `${title} · Kvasir`;
  }, [title]);
  const close = () => setOpen(false);
  useEffect(close, [view, route.value.id]);
  return (
    <div class={`shell ${isOpen ? "open" : ""}`}>
      <header class="top">
        <IconButton
          icon={isOpen ? "close" : "menu"}
          label={isOpen ? "Close the menu" : "Menu"}
          onClick={() => setOpen(!isOpen)}
        />
        <span class="title">{title}</span>
      </header>
      <aside class="side" aria-label="Menu">
        <a class="brand" href={pathOf("chat")} onClick={close}>
          <img src="/assets/icon.svg" alt="" width="26" height="26" />
          Kvasir
        </a>
        <Views onChoose={close} />
        {view === "chat" ? <Sidebar onChoose={close} /> : <div class="conversations" />}
        <footer>
          <a href="/docs" target="_blank" rel="noreferrer">
            API
          </a>
          <span class="grow" />
          {(keys.tenant.value || keys.admin.value) && (
            <IconButton icon="key" label="API keys" onClick={() => setShowsKeys(true)} />
          )}
          <IconButton icon="keyboard" label="Keys" onClick={() => setShowsHelp(true)} />
          <IconButton
            icon={theme() === "dark" ? "sun" : "moon"}
            label={theme() === "dark" ? "Light colours" : "Dark colours"}
            onClick={toggleTheme}
          />
        </footer>
      </aside>
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the menu's button does the same */}
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the menu's button does the same */}
      {isOpen && <div class="veil" onClick={close} />}
      {view === "chat" && <Chat />}
      {view === "machine" && <Machine />}
      {view === "tenants" && <Tenants />}
      {view === "playground" && <Playground />}
      <KeyDialog />
      {showsKeys && <KeptKeys onClose={() => setShowsKeys(false)} />}
      {showsHelp && <Help onClose={() => setShowsHelp(false)} />}
    </div>
  );
}
