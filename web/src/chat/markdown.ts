import DOMPurify from "dompurify";
import hljs from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import c from "highlight.js/lib/languages/c";
import cpp from "highlight.js/lib/languages/cpp";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import go from "highlight.js/lib/languages/go";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import python from "highlight.js/lib/languages/python";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";
import { Marked } from "marked";
import { Blocks } from "./blocks.ts";

const languages = {
  bash,
  c,
  cpp,
  css,
  diff,
  go,
  java,
  javascript,
  json,
  python,
  rust,
  sql,
  typescript,
  xml,
  yaml,
};
for (const [name, language] of Object.entries(languages)) hljs.registerLanguage(name, language);

const kMaxHighlighted = 40_000; // characters; more takes too long for one frame

export function escapeHtml(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

export function highlight(code: string, language: string): string {
  if (!hljs.getLanguage(language) || code.length > kMaxHighlighted) return escapeHtml(code);
  return hljs.highlight(code, { language, ignoreIllegals: true }).value;
}

const kHarmless = /&lt;(\/?(?:br|sub|sup|kbd|b|i|u|s|em|strong|mark|del)\s*\/?)&gt;/gi;

const marked = new Marked({
  gfm: true,
  breaks: true,
  renderer: {
    code({ text, lang }) {
      const language = (lang ?? "").split(/\s/)[0] ?? "";
      return (
        `<figure class="code"><figcaption><span>${escapeHtml(language) || "text"}</span>` +
        `<button type="button" class="quiet small" data-copy>Copy</button></figcaption>` +
        `<pre tabindex="0"><code>${highlight(text, language)}</code></pre></figure>`
      );
    },
    // A line break or a small letter is harmless and common in tables.
    html(token) {
      const text = escapeHtml(token.text.trimEnd()).replace(kHarmless, "<$1>");
      return token.type === "html" && token.block ? `<p class="as-written">${text}</p>` : text;
    },
    // Nothing is fetched from other sites, pictures neither.
    image({ href, text }) {
      return `<a href="${escapeHtml(href)}">${escapeHtml(text || href)}</a>`;
    },
    table(token) {
      const row = (cells: typeof token.header, tag: string) =>
        `<tr>${cells.map((cell) => `<${tag}>${this.parser.parseInline(cell.tokens)}</${tag}>`).join("")}</tr>`;
      return (
        `<div class="table" tabindex="0"><table><thead>${row(token.header, "th")}</thead>` +
        `<tbody>${token.rows.map((cells) => row(cells, "td")).join("")}</tbody></table></div>`
      );
    },
  },
});

// Formulas are shown as they are written: without this, Markdown would take their backslashes away.
marked.use({
  extensions: [
    {
      name: "formula",
      level: "inline",
      start: (text: string) => text.search(/\\[([]/),
      tokenizer(text: string) {
        const found = /^\\\(([^\n]+?)\\\)|^\\\[([\s\S]+?)\\\]/.exec(text);
        if (!found) return undefined;
        return { type: "formula", raw: found[0], text: (found[1] ?? found[2] ?? "").trim() };
      },
      renderer: (token) => `<code class="formula">${escapeHtml(token.text)}</code>`,
    },
  ],
});

DOMPurify.addHook("afterSanitizeAttributes", (node) => {
  if (node.tagName !== "A") return;
  node.setAttribute("target", "_blank");
  node.setAttribute("rel", "noopener noreferrer");
});

// What Markdown itself gives. HTML of a model or of a user is shown as the text that it is.
const kPurify = {
  ALLOWED_TAGS: (
    "a b blockquote br button code del details div em figcaption figure h1 h2 h3 h4 h5 h6 hr i input kbd li mark ol " +
    "p pre s span strong sub summary sup table tbody td th thead tr u ul"
  ).split(" "),
  ALLOWED_ATTR: ["href", "title", "class", "tabindex", "type", "checked", "disabled", "start", "align"],
  ALLOW_DATA_ATTR: true, // of the copy button
};

const kPiece = 8_000;
const kMaxBlock = 60_000; // characters; formatting a longer one could take seconds

/** Splits a text that grows into blocks that can be drawn one by one. */
export function newBlocks(): Blocks {
  return new Blocks(marked.defaults);
}

/** A text that is not formatted, in pieces of many lines. */
export function piecesOf(text: string): string[] {
  const pieces: string[] = [];
  let start = 0;
  while (start < text.length) {
    const line = text.indexOf("\n", start + kPiece);
    const end = line < 0 || line > start + 2 * kPiece ? start + kPiece : line + 1;
    pieces.push(text.slice(start, end));
    start = end;
  }
  return pieces;
}

function asWritten(text: string): string {
  return `<p class="as-written">${escapeHtml(text)}</p>`;
}

/** Safe HTML of one block. */
export function renderBlock(block: string): string {
  const isCode = /^ {0,3}(```|~~~)/.test(block);
  if (block.length > kMaxBlock && !isCode) return asWritten(block);
  try {
    return DOMPurify.sanitize(marked.parse(block, { async: false }), kPurify);
  } catch {
    return asWritten(block);
  }
}
