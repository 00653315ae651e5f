#!/usr/bin/env python3
"""Takes the pictures of docs/images: starts a server with three tenants, loads it, and opens its page in Chromium."""
import json
import os
import pathlib
import random
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
KVASIR = ROOT / "build/release/bin/kvasir"
PORT = 18480
URL = f"http://127.0.0.1:{PORT}"
TENANTS = {"acme": "pro", "harbour": "pro", "lab": "pro"}
PRICES = "".join(f'[[prices]]\nmodel = "{model}"\nprompt = {prompt}\ncompletion = {completion}\ncurrency = "USD"\n'
                 for model, prompt, completion in (("smollm2", 0.02, 0.08), ("qwen2.5-coder", 0.15, 0.60)))
WORDS = "river stone light engine paper quiet north garden number signal bridge water".split()


def kvasir(data, *words):
    return subprocess.run([KVASIR, *words, "--data-dir", data], capture_output=True, text=True, check=True).stdout


def make_key(data, *words):
    return json.loads(kvasir(data, "key", "create", "--json", *words))["key"]


def post(key, body):
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
    request = urllib.request.Request(URL + "/v1/chat/completions", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=120) as response:
        response.read()


def ask_on(key, seed, over):
    """One client: questions of different lengths, one after another, until it is over."""
    chance = random.Random(seed)
    while not over.is_set():
        words = " ".join(chance.choice(WORDS) for _ in range(chance.choice([20, 60, 160, 400])))
        body = {"model": "smollm2", "max_tokens": chance.choice([40, 90, 160]), "temperature": 0.3, "stream": True,
                "messages": [{"role": "system", "content": "You answer in one short paragraph. " * 6}, {"role": "user", "content": words}]}
        try:
            post(key, body)
        except (urllib.error.URLError, OSError):
            over.wait(1)  # refused, or the server has gone
        over.wait(chance.random())


def take(data, server):
    keys = [make_key(data, "--tenant", tenant, "--name", "laptop") for tenant in TENANTS]
    for tenant in TENANTS:
        make_key(data, "--tenant", tenant, "--name", "nightly reports")
    admin = make_key(data, "--tenant", "acme", "--scope", "admin", "--name", "admin")
    while True:
        try:
            with urllib.request.urlopen(URL + "/health/ready") as ready:
                if all(model["state"] == "ready" for model in json.load(ready)["models"].values()):
                    break
        except (urllib.error.URLError, OSError):
            pass
        assert server.poll() is None, "the server ended"
        time.sleep(0.2)
    environment = {**os.environ, "KVASIR_URL": URL, "KVASIR_TENANT_KEY": keys[0], "KVASIR_ADMIN_KEY": admin,
                   "KVASIR_IMAGES": str(ROOT / "docs/images")}

    def node(part):
        subprocess.run([ROOT / "build/test-venv/bin/node", ROOT / "web/screenshots.mjs", part], env=environment, check=True)

    node("chat")
    over = threading.Event()
    clients = [threading.Thread(target=ask_on, args=(keys[i % 3], i, over)) for i in range(9)]
    for client in clients:
        client.start()
    try:
        node("machine")
    finally:
        over.set()
        for client in clients:
            client.join()


def main():
    subprocess.run([ROOT / "scripts/web.sh", "tools"], check=True)
    (ROOT / "docs/images").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="kvasir-pictures-") as data:
        for tenant, tier in TENANTS.items():
            kvasir(data, "tenant", "create", tenant, "--tier", tier)
        settings = pathlib.Path(data) / "kvasir.toml"
        settings.write_text(PRICES)
        server = subprocess.Popen([KVASIR, "serve", "--port", str(PORT), "--data-dir", data, "--config", settings, "--model", "smollm2",
                                   "--model", "qwen2.5-coder", "--admission", "off"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            take(data, server)
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
