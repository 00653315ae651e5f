/** One event of a text/event-stream. */
export interface ServerEvent {
  event: string;
  data: string;
  id: string;
}

/** Splits the text of an event stream, which may come in any pieces, into events. */
export class EventParser {
  private rest = "";

  push(text: string): ServerEvent[] {
    this.rest += text.replaceAll("\r\n", "\n");
    const events: ServerEvent[] = [];
    let end = this.rest.indexOf("\n\n");
    while (end >= 0) {
      const event = parse(this.rest.slice(0, end));
      if (event) events.push(event);
      this.rest = this.rest.slice(end + 2);
      end = this.rest.indexOf("\n\n");
    }
    return events;
  }
}

// Null for a block of comments, such as a ping.
function parse(block: string): ServerEvent | null {
  const event: ServerEvent = { event: "message", data: "", id: "" };
  const data: string[] = [];
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    if (colon === 0) continue;
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "data") data.push(value);
    else if (name === "event") event.event = value;
    else if (name === "id") event.id = value;
  }
  if (data.length === 0) return null;
  event.data = data.join("\n");
  return event;
}

export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const parser = new EventParser();
  const reader = body
    .pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)
    .getReader();
  try {
    while (true) {
      const { value, done } = await reader.read();
      if (done) return;
      yield* parser.push(value);
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
