"""Kvasir's chat templates beside Jinja2 itself: the templates of real models with random conversations, and random
templates. `kvasir check templates` compares the texts and the refusals."""

import json
import os
import re
import subprocess

import jinja_reference
import pytest
from random_chats import RandomChats
from random_templates import VARIABLES, RandomTemplates
from template_sources import TEMPLATES

BIN = os.environ.get("KVASIR_BIN", "build/release/bin/kvasir")
NUM_CHATS = int(os.environ.get("KVASIR_TEMPLATE_CHATS", 300))
NUM_TEMPLATES = int(os.environ.get("KVASIR_TEMPLATES", 3000))
SEED = int(os.environ.get("KVASIR_TEMPLATE_SEED", 1))

# The text that Python prints for its own objects is meaningless in a prompt, and Kvasir's integers have 64
# bits.
UNSPECIFIED = re.compile(r"<(generator|bound|built-in|function|Macro|Namespace|jinja2|LoopContext|\w+iterator|\w+ object)|Markup\(|\d{19}|object at 0x|&lt;(gen|bu|bo)")
MESSAGES = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hé \"q\"\n"}]


def check(templates, tmp_path):
    golden = tmp_path / "golden.json"
    golden.write_text(json.dumps({"templates": templates}))
    done = subprocess.run([BIN, "check", "templates", golden], capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout + done.stderr


def with_rendered(source, chats, bos_token="", eos_token=""):
    template = jinja_reference.compiled(source)
    rows = []
    for chat in chats:
        rendered = jinja_reference.rendered(template, chat, bos_token, eos_token)
        if rendered is None or not UNSPECIFIED.search(rendered):
            rows.append({**chat, "rendered": rendered})
    return {"source": source, "bos_token": bos_token, "eos_token": eos_token, "chats": rows}


@pytest.mark.parametrize("name", sorted(TEMPLATES))
def test_models(name, tmp_path):
    source, bos_token, eos_token = TEMPLATES[name]()
    chats = RandomChats(SEED)
    row = with_rendered(source, [chats.chat() for _ in range(NUM_CHATS)], bos_token, eos_token)
    assert sum(chat["rendered"] is not None for chat in row["chats"]) > NUM_CHATS // 10
    status, output = check([row], tmp_path)
    assert status == 0, output


def test_language(tmp_path):
    """Random expressions and statements."""
    random = RandomTemplates(SEED)
    chat = {"conversation": MESSAGES, "kwargs": VARIABLES}
    templates = [with_rendered(random.template(), [chat]) for _ in range(NUM_TEMPLATES)]
    texts = [row["chats"][0]["rendered"] for row in templates if row["chats"]]
    assert sum(text is not None for text in texts) > NUM_TEMPLATES // 3
    status, output = check(templates, tmp_path)
    assert status == 0, output


def test_a_difference_is_a_failure(tmp_path):
    row = with_rendered("{{ 1 }}", [{"conversation": []}])
    row["chats"][0]["rendered"] = "2"
    status, output = check([row], tmp_path)
    assert status == 1 and "1 differences" in output
    row["chats"][0]["rendered"] = None
    assert check([row], tmp_path)[0] == 1
