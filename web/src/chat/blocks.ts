import { Lexer, type MarkedOptions } from "marked";

const kMaxFormatted = 200_000; // characters of a text
const kMaxLine = 20_000; // a longer one takes the formatter seconds, if somebody wants it to

function hasHugeLine(text: string): boolean {
  let start = 0;
  while (start < text.length) {
    const end = text.indexOf("\n", start);
    const length = (end < 0 ? text.length : end) - start;
    if (length > kMaxLine) return true;
    start += length + 1;
  }
  return false;
}

/**
 * The paragraphs, lists and code blocks of a text that grows at its end. Only what comes after the last
 * finished block is looked at again, so a long answer costs no more for each token than a short one.
 */
export class Blocks {
  private text = "";
  private finished: string[] = []; // all but the last block
  private numFinished = 0; // characters of them, with what is between
  private last: string[] = [];

  private readonly options: MarkedOptions;

  constructor(options: MarkedOptions) {
    this.options = options;
  }

  /** Null: the text is too long, or too strange, to be formatted. */
  of(given: string): string[] | null {
    const text = given.replaceAll("\r\n", "\n");
    if (text.length > kMaxFormatted) return null;
    if (!text.startsWith(this.text)) this.begin();
    if (hasHugeLine(text.slice(this.numFinished))) return null;
    this.text = text;
    try {
      this.split(text.slice(this.numFinished));
    } catch {
      this.begin();
      return null; // nested too deeply
    }
    return [...this.finished, ...this.last];
  }

  private begin(): void {
    this.text = "";
    this.finished = [];
    this.numFinished = 0;
    this.last = [];
  }

  private split(rest: string): void {
    const all = new Lexer(this.options).blockTokens(rest).map((token) => token.raw);
    // Spaces between two lists decide whether they are one, so what precedes the last block waits with them.
    let keep = all.length - 1;
    while (keep > 0 && all[keep]!.trim() === "") keep -= 1;
    const done = all.slice(0, Math.max(0, keep));
    // The formatter may write a tab or a space in another way; then lengths cannot be trusted.
    const length = done.reduce((sum, raw) => sum + raw.length, 0);
    if (done.length > 0 && rest.startsWith(done.join(""))) {
      this.finished.push(...done.filter((raw) => raw.trim() !== ""));
      this.numFinished += length;
      this.last = all.slice(keep).filter((raw) => raw.trim() !== "");
    } else {
      this.last = all.filter((raw) => raw.trim() !== "");
    }
  }
}
