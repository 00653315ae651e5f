const paths = {
  plus: "M12 5v14M5 12h14",
  search: "M11 19a8 8 0 1 0 0-16 8 8 0 0 0 0 16ZM21 21l-4.3-4.3",
  send: "M12 19V5M5 12l7-7 7 7",
  stop: "M7 7h10v10H7z",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  redo: "M21 12a9 9 0 1 1-2.6-6.4L21 8M21 3v5h-5",
  edit: "M4 20h4L19 9l-4-4L4 16zM13.5 6.5l4 4",
  branch:
    "M6 4v10M6 20a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM18 10a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM18 10c0 5-6 3-9.5 5.5",
  trash: "M4 7h16M10 11v6M14 11v6M6 7l1 13h10l1-13M9 7V4h6v3",
  menu: "M4 7h16M4 12h16M4 17h16",
  close: "M6 6l12 12M18 6 6 18",
  left: "M14 6l-6 6 6 6",
  right: "M10 6l6 6-6 6",
  sliders:
    "M4 8h10M18 8h2M4 16h2M10 16h10M16 10a2 2 0 1 0 0-4 2 2 0 0 0 0 4ZM8 18a2 2 0 1 0 0-4 2 2 0 0 0 0 4Z",
  clip: "M20 11.5 12 19.5a5 5 0 0 1-7-7l8.5-8.5a3.3 3.3 0 0 1 4.7 4.7L9.8 17a1.7 1.7 0 0 1-2.4-2.4L15 7",
  sun: "M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8ZM12 2v2M12 20v2M2 12h2M20 12h2M4.9 4.9l1.4 1.4M17.7 17.7l1.4 1.4M4.9 19.1l1.4-1.4M17.7 6.3l1.4-1.4",
  moon: "M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5Z",
  chat: "M21 12a8 8 0 0 1-8 8H4l2-3.5A8 8 0 1 1 21 12Z",
  pulse: "M3 12h4l3-8 4 16 3-8h4",
  terminal: "M4 5h16v14H4zM8 10l3 2.5L8 15M13 15h4",
  keyboard: "M3 7h18v10H3zM7 11h.01M11 11h.01M15 11h.01M8 14h8",
  down: "M12 5v14M5 12l7 7 7-7",
  key: "M14.5 9.5a4 4 0 1 0-3 3.9L13 15h2v2h2v2h3v-3l-5.6-5.6a4 4 0 0 0 .1-.9ZM9 9h.01",
  people:
    "M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7ZM2.5 20a6.5 6.5 0 0 1 13 0M16 4.3a3.5 3.5 0 0 1 0 6.4M18 14.2a6.5 6.5 0 0 1 3.5 5.8",
  fold: "M9 6l6 6-6 6",
};

export type IconName = keyof typeof paths;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={paths[name]} />
    </svg>
  );
}

/** A button that is a picture; `label` is what screen readers and tooltips say. */
export function IconButton(props: {
  icon: IconName;
  label: string;
  onClick: () => void;
  class?: string;
  disabled?: boolean;
  pressed?: boolean;
}) {
  return (
    <button
      type="button"
      class={`icon-button ${props.class ?? ""}`}
      aria-label={props.label}
      title={props.label}
      aria-pressed={props.pressed}
      disabled={props.disabled}
      onClick={props.onClick}
    >
      <Icon name={props.icon} />
    </button>
  );
}
