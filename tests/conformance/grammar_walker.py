"""Drives grammar_walk, which stands beside the kvasir program, and judges its texts by PyPI's `jsonschema`."""

import json
import os
import pathlib
import subprocess

import jsonschema

WALK = pathlib.Path(os.environ.get("KVASIR_BIN", "build/release/bin/kvasir")).parent / "grammar_walk"


class Walker:
    def __init__(self):
        self.process = subprocess.Popen([WALK], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, kind, source, seed=0, walks=6):
        request = {"kind": kind, "source": source, "seed": seed, "walks": walks, "max_tokens": 120}
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, f"the walker died on {json.dumps(request)}"
        return json.loads(line)

    def close(self):
        self.process.stdin.close()
        assert self.process.wait(10) == 0


def reject_constant(name):
    raise AssertionError(f"{name} is not JSON")


def check(schema, texts):
    kind = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    validator = kind(schema, format_checker=kind.FORMAT_CHECKER)
    for text in texts:
        value = json.loads(text, parse_constant=reject_constant)
        errors = list(validator.iter_errors(value))
        assert not errors, f"{json.dumps(schema)}\n{text}\n{errors[0].message}"
