// Pages that came over plain HTTP from another machine have no clipboard of the new kind.
function copyTheOldWay(text: string): boolean {
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "hidden";
  (document.querySelector("dialog[open]") ?? document.body).append(area);
  area.select();
  const isDone = document.execCommand("copy");
  area.remove();
  return isDone;
}

/** Whether the text is in the clipboard now. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyTheOldWay(text);
  }
}

/** Copies, and says so on the button for a moment. */
export async function copyWith(button: HTMLElement, text: string): Promise<void> {
  const label = button.textContent;
  button.textContent = (await copyText(text)) ? "Copied" : "Not allowed";
  setTimeout(() => {
    button.textContent = label;
  }, 1400);
}
