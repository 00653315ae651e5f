import assert from "node:assert/strict";
import { test } from "node:test";
import { Marked } from "marked";
import { Blocks } from "../src/chat/blocks.ts";

const options = new Marked({ gfm: true, breaks: true }).defaults;
const whole = (text: string) => new Blocks(options).of(text);

const text = [
  "# Title",
  "A paragraph\nof two lines, with `code`.",
  "- one\n- two\n\n  still two\n- three",
  "1. first\n2. second",
  '```python\nprint("a")\n\nprint("b")\n```',
  "| a | b |\n|---|---|\n| 1 | 2 |",
  "> quoted\n> twice",
  "Heading\n---",
  "\tindented code\n\tagain",
  "the end",
].join("\n\n");

test("a text that grows letter by letter gives the same blocks as all of it at once", () => {
  const growing = new Blocks(options);
  for (let end = 1; end <= text.length; end++) {
    const part = text.slice(0, end);
    assert.deepEqual(growing.of(part), whole(part), JSON.stringify(part));
  }
});

test("another text begins anew", () => {
  const blocks = new Blocks(options);
  blocks.of("a\n\nb\n\nc");
  assert.deepEqual(blocks.of("x\n\ny"), ["x", "y"]);
});

test("finished blocks are not looked at again", () => {
  const blocks = new Blocks(options);
  let longText = "";
  const started = performance.now();
  for (let at = 0; at < 1000; at++) {
    longText += `Paragraph ${at} with some words in it.\n\n`;
    blocks.of(longText);
  }
  assert.equal(blocks.of(longText)?.length, 1000);
  // Each time from the beginning it would be half a million paragraphs.
  assert.ok(performance.now() - started < 5000);
});

test("what could take the formatter for ever is not given to it", () => {
  assert.equal(whole("word ".repeat(100_000)), null);
  assert.equal(whole("*".repeat(30_000)), null);
  assert.equal(whole("> ".repeat(9_000)), null);
});
