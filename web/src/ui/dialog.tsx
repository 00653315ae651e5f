import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { IconButton } from "./icons.tsx";

/** A dialog in front of the page. Escape and a click beside it close it, unless it `holds` what is shown once. */
export function Dialog(props: {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  class?: string;
  holds?: boolean;
}) {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = element.current!;
    dialog.showModal();
    return () => dialog.close();
  }, []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes a dialog by itself
    <dialog
      ref={element}
      class={props.class}
      aria-label={props.title}
      onCancel={(event) => {
        event.preventDefault();
        if (!props.holds) props.onClose();
      }}
      onClick={(event) => {
        if (event.target === element.current && !props.holds) props.onClose();
      }}
    >
      <div class="dialog">
        <header>
          <h2>{props.title}</h2>
          <IconButton icon="close" label="Close" onClick={props.onClose} />
        </header>
        {props.children}
      </div>
    </dialog>
  );
}
