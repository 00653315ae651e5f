"""The table of error codes in docs/api.md has every code of the source, and no other."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Errors of these folders end in a log line or become another error.
INTERNAL = {"tool", "bench", "app", "hub"}
STRING = re.compile(r'"([a-z]+(?:_[a-z0-9]+)*)"')


def arguments(text, start):
    """The top-level arguments between the bracket at `start` and its partner."""
    found, depth, begin, i = [], 0, start + 1, start
    while i < len(text):
        c = text[i]
        if c == '"':
            i += 1
            while text[i] != '"':
                i += 2 if text[i] == "\\" else 1
        elif c in "({[":
            depth += 1
        elif c in ")}]":
            depth -= 1
            if depth == 0:
                return found + [text[begin:i].strip()]
        elif c == "," and depth == 1:
            found.append(text[begin:i].strip())
            begin = i + 1
        i += 1
    return found


def constants():
    """The codes that have a name of their own, which `reason = std::string(kName)` uses."""
    text = "".join(path.read_text() for path in (ROOT / "src").rglob("*.h"))
    return dict(re.findall(r'constexpr std::string_view (k\w+) = ("[a-z_]+");', text))


def codes_of_source():
    codes, named = {}, constants()
    for path in sorted((ROOT / "src").rglob("*")):
        if path.suffix not in (".cc", ".h") or path.name.endswith("_test.cc"):
            continue
        if path.relative_to(ROOT / "src").parts[0] in INTERNAL:
            continue
        text = path.read_text()
        expressions = re.findall(r"\breason = ([^;,}]*)", text)
        for match in re.finditer(r"\bError\{", text):
            values = arguments(text, match.end() - 1)
            expressions += values[3:4] if not values[0].startswith(".") else []
        for match in re.finditer(r"\bRefusedRequest(?: \w+)?[({]", text):
            expressions += arguments(text, match.end() - 1)[1:2]
        expressions += re.findall(r'\{\s*[45]\d\d,\s*("\w+")', text)
        for expression in expressions:
            values = expression + "".join(named.get(name, "") for name in re.findall(r"\bk[A-Z]\w+", expression))
            for code in STRING.findall(values):
                codes.setdefault(code, path.name)
    return codes


def codes_of_docs():
    text = (ROOT / "docs" / "api.md").read_text()
    table = text[text.index("\n## Errors") :]
    rows = [line for line in table.splitlines() if line.startswith("| ")][1:]
    return {code for row in rows for code in re.findall(r"`([a-z]+(?:_[a-z0-9]+)*)`", row)}


def test_the_table_has_the_codes_of_the_source():
    source, docs = codes_of_source(), codes_of_docs()
    assert len(source) > 30, source
    assert {code: place for code, place in source.items() if code not in docs} == {}
    assert docs - set(source) == set()
