"""Kvasir's tokenizers beside Hugging Face's own: recorded results of its libraries, and PyPI's native `tokenizers` on
random texts. `kvasir check tokenizer` compares them, including decoding and streaming."""

import json
import os
import pathlib
import subprocess

import pytest
import tokenizers
from random_texts import texts
from tokenizer_packages import DIRECTORIES

BIN = os.environ.get("KVASIR_BIN", "build/release/bin/kvasir")
GOLDENS = pathlib.Path(__file__).resolve().parents[1] / "golden/tokenizers"
NUM_TEXTS = int(os.environ.get("KVASIR_TOKENIZER_TEXTS", 10_000))
SEED = int(os.environ.get("KVASIR_TOKENIZER_SEED", 1))


def check(directory, golden, *flags):
    command = [BIN, "check", "tokenizer", directory, golden, *flags]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout + done.stderr


def compare(directory, count, tmp_path, seed=SEED):
    """Compares both on the same random texts."""
    file = json.loads((directory / "tokenizer.json").read_text())
    native = tokenizers.Tokenizer.from_file(str(directory / "tokenizer.json"))
    changed = {a["id"] for a in file["added_tokens"] if a["special"] and a["normalized"] and file["normalizer"]}
    inputs = list(texts(count, [a["content"] for a in file["added_tokens"]], seed))
    encodings = native.encode_batch(inputs, add_special_tokens=False)
    rows = []
    for text, encoding, decoded in zip(inputs, encodings, native.decode_batch([e.ids for e in encodings])):
        row = {"text": text, "ids": encoding.ids}
        # The library decodes special tokens that its normalizer changes. Kvasir never does.
        if changed.isdisjoint(encoding.ids):
            row["decoded"] = decoded
        rows.append(row)
    golden = tmp_path / "golden.json"
    golden.write_text(json.dumps({"encode": rows}, ensure_ascii=False))
    status, output = check(directory, golden)
    assert f"{count} texts" in output, output
    assert status == 0, output


@pytest.mark.parametrize("name", sorted(DIRECTORIES))
def test_recorded(name):
    status, output = check(DIRECTORIES[name], GOLDENS / f"{name}.json")
    assert status == 0, output
    assert "99 texts" in output and "599 streams" in output


@pytest.mark.parametrize("name", sorted(DIRECTORIES))
def test_prepared(name, tmp_path):
    """The second time, the tokenizer is loaded from its image."""
    for _ in range(2):
        status, output = check(DIRECTORIES[name], GOLDENS / f"{name}.json", "--prepared", tmp_path)
        assert status == 0, output
        assert "99 texts" in output
        assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("name", sorted(DIRECTORIES))
def test_random_texts(name, tmp_path):
    compare(DIRECTORIES[name], NUM_TEXTS, tmp_path)


def test_a_difference_is_a_failure(tmp_path):
    golden = tmp_path / "golden.json"
    golden.write_text(json.dumps({"encode": [{"text": "Hello", "ids": [1, 2]}]}))
    status, output = check(DIRECTORIES["gpt2"], golden)
    assert status == 1 and "MISSED ids" in output


BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}


def split(pattern, behavior, invert=False):
    kind = "Regex" if pattern.startswith("\\") or "[" in pattern else "String"
    return {"type": "Split", "pattern": {kind: pattern}, "behavior": behavior, "invert": invert}


PRE_TOKENIZERS = {
    "prefix_space": [{**BYTES, "add_prefix_space": True, "use_regex": True}],
    "digits": [{"type": "Digits", "individual_digits": False}, BYTES],
    "digit": [{"type": "Digits", "individual_digits": True}, BYTES],
    "punctuation": [{"type": "Punctuation", "behavior": "Contiguous"}, BYTES],
    "bert": [{"type": "BertPreTokenizer"}, BYTES],
    "whitespace": [{"type": "Whitespace"}, BYTES],
    "whitespace_split": [{"type": "WhitespaceSplit"}, BYTES],
    "delimiter": [{"type": "CharDelimiterSplit", "delimiter": "e"}, BYTES],
    "metaspace": [{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": True}, BYTES],
    "metaspace_whole": [{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": False}, BYTES],
    "words": [split(r"\w+", "Removed", True), BYTES],
    "not_words": [split(r"\W", "MergedWithNext"), BYTES],
    "lines": [split(r"\s+$", "MergedWithPrevious"), BYTES],
    "letters": [split("e", "MergedWithNext"), split("[aeiou]+", "Contiguous"), BYTES],
}
NORMALIZERS = {
    name.lower(): {"type": name} for name in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Nmt")
} | {
    "strip": {"type": "Strip", "strip_left": True, "strip_right": True},
    "strip_right": {"type": "Strip", "strip_left": False, "strip_right": True},
    "bert": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None,
             "lowercase": False},
    "replace": {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "},
    "sequence": {"type": "Sequence", "normalizers": [
        {"type": "Prepend", "prepend": "▁"}, {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]},
}
ADDED = {
    "lstrip": {"lstrip": True},
    "rstrip": {"rstrip": True},
    "both": {"lstrip": True, "rstrip": True},
    "single_word": {"single_word": True},
    "normalized": {"normalized": True},
    "not_special": {"special": False},
}


def variant(tmp_path, **changes):
    """GPT-2 with some parts replaced."""
    file = json.loads((DIRECTORIES["gpt2"] / "tokenizer.json").read_text())
    file.update(changes)
    (tmp_path / "tokenizer.json").write_text(json.dumps(file))
    return tmp_path


@pytest.mark.parametrize("name", PRE_TOKENIZERS)
def test_pre_tokenizers(name, tmp_path):
    steps = {"type": "Sequence", "pretokenizers": PRE_TOKENIZERS[name]}
    compare(variant(tmp_path, pre_tokenizer=steps), 1000, tmp_path)


@pytest.mark.parametrize("name", NORMALIZERS)
def test_normalizers(name, tmp_path):
    compare(variant(tmp_path, normalizer=NORMALIZERS[name]), 1000, tmp_path)


@pytest.mark.parametrize("flags", ADDED)
@pytest.mark.parametrize("normalizer", [None, "lowercase"])
def test_added_tokens(flags, normalizer, tmp_path):
    plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    tokens = [{"id": 50256, "content": "<|endoftext|>", **plain},
              {"id": 50257, "content": "don't", **plain, **ADDED[flags]},
              {"id": 50258, "content": "naïve", **plain, **ADDED[flags]},
              {"id": 50259, "content": "naïve-x", **plain, **ADDED[flags]}]
    changes = {"added_tokens": tokens, "normalizer": NORMALIZERS[normalizer] if normalizer else None}
    compare(variant(tmp_path, **changes), 1000, tmp_path)
