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

const kPurify = {
  FORBID_TAGS: ["style", "form", "img", "video", "audio", "iframe", "svg", "math"],
  FORBID_ATTR: ["style", "id", "name"],
};

/** The paragraphs, lists and code blocks of a text, so that those that are complete need not be drawn again. */
export function blocksOf(text: string): string[] {
  return marked
    .lexer(text)
    .map((token) => token.raw)
    .filter((raw) => raw.trim() !== "");
}

const kMaxKept = 500;
const kept = new Map<string, string>();

/** Safe HTML of one block. */
export function renderBlock(block: string): string {
  const known = kept.get(block);
  if (known !== undefined) return known;
  const html = DOMPurify.sanitize(marked.parse(block, { async: false }), kPurify);
  if (kept.size >= kMaxKept) kept.clear();
  kept.set(block, html);
  return html;
}
