"""Token masks of Kvasir, llguidance and xgrammar side by side: the same vocabulary, the same schemas, the same tokens.

    python bench/grammar_masks.py --walk build/release/bin/grammar_walk --vocabulary MODEL.gguf [--corpus] [--check] [--runs 3]

Called by scripts/bench_grammar.sh, which makes everything that it needs. For each schema it prints how long compiling
took, the mean and the 99th percentile of a mask, and at how many positions the masks are the same. All three write
compact JSON here, so that their languages are the same. --check fails if two masks differ in a way that is not a known
quirk of the peer (see `quirk`). Times are those of the thread on a processor. With several --runs, the engines take turns and the fastest time at each position counts,
so that other work of the machine does not; each run compiles anew, except xgrammar's, which takes seconds.
"""

import argparse
import json
import pathlib
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from unittest import mock

import numpy
import tvm_ffi  # noqa: F401  must come before torch is replaced below

# xgrammar imports these two only for types and GPU kernels that are not used here. They take gigabytes.
for name in ("torch", "transformers"):
    sys.modules[name] = mock.MagicMock()
import llguidance  # noqa: E402
import llguidance.numpy  # noqa: E402
import xgrammar  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
CONTROL = 3  # GGUF's token type


def gguf_metadata(path):
    """The key-value part of a GGUF file."""
    file = open(path, "rb")
    formats = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}

    def number(code):
        return struct.unpack("<" + code, file.read(struct.calcsize("<" + code)))[0]

    def string():
        return file.read(number("Q"))

    def value(kind):
        if kind == 8:
            return string()
        if kind == 9:
            inner, count = number("I"), number("Q")
            if inner == 8:
                return [string() for _ in range(count)]
            code = formats[inner]
            return list(struct.unpack(f"<{count}{code}", file.read(count * struct.calcsize("<" + code))))
        return number(formats[kind])

    assert file.read(4) == b"GGUF", f"{path} is no GGUF file"
    number("I"), number("Q")
    return {string().decode(): value(number("I")) for _ in range(number("Q"))}


def byte_of_letter():
    """The bytes that the letters of GPT-2's spelling stand for."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters = {chr(b): b for b in printable}
    letters.update({chr(256 + i): b for i, b in enumerate(b for b in range(256) if b not in printable)})
    return letters


class Vocabulary:
    def __init__(self, path):
        meta = gguf_metadata(path)
        assert meta["tokenizer.ggml.model"] == b"gpt2", "a byte-level vocabulary is wanted"
        letters = byte_of_letter()
        types = meta["tokenizer.ggml.token_type"]
        texts = [t.decode() for t in meta["tokenizer.ggml.tokens"]]
        self.special = [i for i, kind in enumerate(types) if kind == CONTROL]
        self.end = meta["tokenizer.ggml.eos_token_id"]
        plain = set(range(len(texts))) - set(self.special)
        # Added tokens are spelled literally.
        self.tokens = [
            bytes(letters[c] for c in t) if i in plain and all(c in letters for c in t) else t.encode()
            for i, t in enumerate(texts)
        ]
        self.ids = {t: i for i, t in reversed(list(enumerate(self.tokens))) if i in plain}
        self.longest = max(map(len, self.ids))

    def encode(self, text):
        """Takes the longest token each time: any way to split the text will do here."""
        ids, at = [], 0
        while at < len(text):
            length = next(n for n in range(min(self.longest, len(text) - at), 0, -1) if text[at : at + n] in self.ids)
            ids.append(self.ids[text[at : at + length]])
            at += length
        return ids

    def as_json(self):
        special = [i for i in self.special if i != self.end]
        return {"tokens": [t.hex() for t in self.tokens], "special": special, "end": [self.end]}


class Kvasir:
    name = "kvasir"

    def __init__(self, walk, vocabulary, folder):
        self.folder, self.num_words = folder, (len(vocabulary.tokens) + 31) // 32
        file = folder / "vocabulary.json"
        file.write_text(json.dumps(vocabulary.as_json()))
        self.process = subprocess.Popen([walk, file], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, schema, tokens, run=0):
        masks = self.folder / "masks"
        fresh = {**schema, "$comment": f"run {run}"} if isinstance(schema, dict) else schema  # is compiled again
        request = {"kind": "json_schema", "source": fresh, "tokens": tokens, "masks": str(masks), "max_whitespace": 0}
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if "error" in answer:
            return str(answer["error"])
        bits = numpy.fromfile(masks, dtype=numpy.uint32).reshape(-1, self.num_words)
        return answer["compile_ms"], [ns / 1e3 for ns in answer["mask_ns"]], bits


class LlGuidance:
    name = "llguidance"

    @staticmethod
    def quirk(ours, theirs, differing):
        """llguidance splits forced text in one way only, and allows fewer escapes: no \\/, no \\u, no raw DEL."""
        one_way = theirs.sum() == 1 and (ours & theirs).sum() == 1
        return one_way or all(b"\\/" in t or b"\x7f" in t or b"\\u" in t for t in differing)

    def __init__(self, vocabulary):
        class Tokens:
            """The interface that llguidance wants of a tokenizer."""

            eos_token_id = vocabulary.end
            bos_token_id = None
            tokens = [b"\xff" + t if i in set(vocabulary.special) else t for i, t in enumerate(vocabulary.tokens)]
            special_token_ids = vocabulary.special

            def __call__(self, text):
                return vocabulary.encode(text.encode() if isinstance(text, str) else text)

        Tokens.special_token_ids = vocabulary.special
        self.tokenizer = llguidance.LLTokenizer(llguidance.TokenizerWrapper(Tokens()))
        self.size = self.tokenizer.vocab_size

    def run(self, schema, tokens, run=0):
        start = time.thread_time()
        try:
            grammar = llguidance.JsonCompiler(separators=(",", ":"), whitespace_flexible=False).compile(json.dumps(schema))
        except ValueError as error:
            return str(error).splitlines()[0]
        matcher = llguidance.LLMatcher(self.tokenizer, grammar)
        compile_ms = (time.thread_time() - start) * 1e3
        if matcher.get_error():
            return matcher.get_error().splitlines()[0]
        mask = llguidance.numpy.allocate_token_bitmask(1, self.size)
        times, masks = [], []
        for token in tokens:
            start = time.thread_time()
            llguidance.numpy.fill_next_token_bitmask(matcher, mask, 0)
            times.append((time.thread_time() - start) * 1e6)
            masks.append(mask[0].copy())
            if not matcher.consume_token(token):
                break
        return compile_ms, times, numpy.array(masks).view(numpy.uint32)


class XGrammar:
    name = "xgrammar"

    @staticmethod
    def quirk(ours, theirs, differing):
        """In strings of a bounded length, xgrammar allows raw control characters and no escapes."""
        return all(b"\\" in t or min(t) < 0x20 for t in differing)

    def __init__(self, vocabulary):
        info = xgrammar.TokenizerInfo(
            [b"" if i in set(vocabulary.special) else t for i, t in enumerate(vocabulary.tokens)],
            vocab_type=xgrammar.VocabType.RAW,
            vocab_size=len(vocabulary.tokens),
            stop_token_ids=[vocabulary.end],
        )
        self.compiler = xgrammar.GrammarCompiler(info, max_threads=1, cache_enabled=False)
        self.mask = numpy.zeros((1, (len(vocabulary.tokens) + 31) // 32), dtype=numpy.int32)
        self.compiled = None, None, 0  # the last grammar, its schema, and how long it took

    def run(self, schema, tokens, run=0):
        if self.compiled[1] is not schema or run == 0:
            start = time.thread_time()
            try:
                grammar = self.compiler.compile_json_schema(
                    json.dumps(schema), any_whitespace=False, separators=(",", ":"), strict_mode=False
                )
            except RuntimeError as error:
                return str(error).splitlines()[-1]
            self.compiled = grammar, schema, (time.thread_time() - start) * 1e3
        grammar, _, compile_ms = self.compiled
        matcher = xgrammar.GrammarMatcher(grammar)
        times, masks = [], []
        for token in tokens:
            start = time.thread_time()
            everything = not matcher.fill_next_token_bitmask(self.mask, 0)
            times.append((time.thread_time() - start) * 1e6)
            masks.append(numpy.full_like(self.mask[0], -1) if everything else self.mask[0].copy())
            if not matcher.accept_token(token):
                break
        return compile_ms, times, numpy.array(masks).view(numpy.uint32)


def bits_of(mask, vocabulary):
    """One bool for each token. Special tokens are left out, since each library treats them in its own way."""
    bits = numpy.unpackbits(mask.view(numpy.uint8), bitorder="little")[: len(vocabulary.tokens)].astype(bool)
    bits[[i for i in vocabulary.special if i != vocabulary.end]] = False
    return bits


def compare(engine, ours, theirs, vocabulary):
    """(masks that are the same, masks whose difference is a known quirk of the peer)"""
    num_same = num_quirks = 0
    for a, b in zip(ours, theirs):
        a, b = bits_of(a, vocabulary), bits_of(b, vocabulary)
        differing = [vocabulary.tokens[i] for i in numpy.nonzero(a ^ b)[0]]
        num_same += not differing
        num_quirks += bool(differing) and engine.quirk(a, b, differing)
    return num_same, num_quirks


def fastest(engines, case, tokens, num_runs):
    """{engine: (compile ms, times, masks), or why it refused}; the engines take turns."""
    results = {}
    for run in range(num_runs):
        for engine in engines:
            if isinstance(results.get(engine), str):
                continue
            result = engine.run(case["schema"], tokens, run)
            if run > 0 and not isinstance(result, str):
                compile_ms, times, masks = results[engine]
                result = min(compile_ms, result[0]), [min(pair) for pair in zip(times, result[1])], masks
            results[engine] = result
    return results


def corpus_cases(walk):
    """The schemas of tests/conformance/schema_corpus.py, each with a value that a random walk has written."""
    sys.path.insert(0, str(HERE.parent / "tests/conformance"))
    from schema_corpus import corpus

    requests = [
        {"kind": "json_schema", "source": schema, "seed": 3, "walks": 4, "max_tokens": 60} for schema in corpus().values()
    ]
    lines = "".join(json.dumps(request) + "\n" for request in requests)
    answers = subprocess.run([walk], input=lines, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    cases = []
    for name, request, answer in zip(corpus(), requests, map(json.loads, answers)):
        texts = sorted(answer.get("texts", []), key=len)
        if texts:
            value = json.loads(texts[len(texts) // 2])
            cases.append({"name": name.split("/")[1][:14], "schema": request["source"], "value": value})
    return cases


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--walk", required=True, help="the grammar_walk program")
    parser.add_argument("--vocabulary", required=True, help="a GGUF file with a byte-level vocabulary")
    parser.add_argument("--cases", default=HERE / "grammar_cases.json", help="[{name, schema, value}]")
    parser.add_argument("--corpus", action="store_true", help="the schemas of the tests' corpus instead of --cases")
    parser.add_argument("--without", action="append", default=[], help="leave this peer out; xgrammar compiles for seconds")
    parser.add_argument("--runs", type=int, default=1, help="the fastest of so many runs counts")
    parser.add_argument("--check", action="store_true", help="fail where masks differ")
    options = parser.parse_args()
    vocabulary = Vocabulary(options.vocabulary)
    cases = corpus_cases(options.walk) if options.corpus else json.loads(pathlib.Path(options.cases).read_text())
    num_different = 0
    with tempfile.TemporaryDirectory() as folder:
        peers = [kind(vocabulary) for kind in (LlGuidance, XGrammar) if kind.name not in options.without]
        engines = [Kvasir(options.walk, vocabulary, pathlib.Path(folder)), *peers]
        print(f"{len(vocabulary.tokens)} tokens; masks in µs of the thread's processor time\n")
        print(f"{'schema':14} {'engine':11} {'compile ms':>10} {'mean':>8} {'p99':>8} {'max':>8}   same masks as kvasir")
        totals = {engine.name: [] for engine in engines}
        taken = dict.fromkeys(totals, 0)
        for case in cases:
            text = json.dumps(case["value"], separators=(",", ":"), ensure_ascii=False).encode()
            tokens = vocabulary.encode(text) + [vocabulary.end]
            own = None
            for engine, result in fastest(engines, case, tokens, options.runs).items():
                if isinstance(result, str):
                    print(f"{case['name']:14} {engine.name:11} refused: {result[:90]}")
                    continue
                compile_ms, times, masks = result
                totals[engine.name] += times
                taken[engine.name] += 1
                agreement = ""
                if own is None:
                    own = masks
                else:
                    num_same, num_quirks = compare(engine, own, masks, vocabulary)
                    agreement = f"{num_same} of {len(tokens)}" + (f", {num_quirks} known quirks" if num_quirks else "")
                    num_different += len(tokens) - num_same - num_quirks
                p99 = sorted(times)[min(len(times) - 1, int(len(times) * 0.99))]
                print(
                    f"{case['name']:14} {engine.name:11} {compile_ms:10.2f} {statistics.mean(times):8.1f} {p99:8.1f} "
                    f"{max(times):8.1f}   {agreement}"
                )
        print()
        for name, times in totals.items():
            p99 = sorted(times)[int(len(times) * 0.99)]
            print(f"{'all':14} {name:11} {'':10} {statistics.mean(times):8.1f} {p99:8.1f} {max(times):8.1f}   of {taken[name]} schemas")
    return 1 if options.check and num_different else 0


if __name__ == "__main__":
    sys.exit(main())
