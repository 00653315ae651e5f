"""`kvasir quantize` as its user sees it, and as another reader of the format sees its files."""

import json
import pathlib
import struct
import subprocess

import gguf
import numpy
import pytest

from conftest import BIN

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "golden"


def run(*args):
    return subprocess.run([BIN, *args], capture_output=True, text=True, timeout=200)


def field(reader, key):
    return reader.get_field(key).contents()


def write_safetensors(path, tensors):
    header, data = {}, b""
    for name, values in tensors.items():
        piece = values.astype("<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(values.shape), "data_offsets": [len(data), len(data) + len(piece)]}
        data += piece
    head = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(head)) + head + data)


LAYERS, HIDDEN, HEADS, KV_HEADS = 2, 256, 4, 2


def random_llama(vocab):
    random = numpy.random.default_rng(1)

    def matrix(*shape):
        return random.normal(0, 0.05, shape).astype("f4")

    kv_size = HIDDEN * KV_HEADS // HEADS
    tensors = {"model.embed_tokens.weight": matrix(vocab, HIDDEN), "model.norm.weight": numpy.ones(HIDDEN, "f4")}
    for i in range(LAYERS):
        layer = f"model.layers.{i}."
        for name, rows in {"q": HIDDEN, "k": kv_size, "v": kv_size, "o": HIDDEN}.items():
            tensors[f"{layer}self_attn.{name}_proj.weight"] = matrix(rows, HIDDEN)
        for name in ("gate", "up", "down"):
            tensors[f"{layer}mlp.{name}_proj.weight"] = matrix(HIDDEN, HIDDEN)
        for name in ("input_layernorm", "post_attention_layernorm"):
            tensors[f"{layer}{name}.weight"] = numpy.ones(HIDDEN, "f4")
    return tensors


def write_tokenizer(directory, reader):
    """A GGUF's vocabulary as Hugging Face would store it."""
    tokens = field(reader, "tokenizer.ggml.tokens")
    types = field(reader, "tokenizer.ggml.token_type")
    added = [
        {"id": i, "content": t, "special": kind == 3, "lstrip": False, "rstrip": False, "normalized": False, "single_word": False}
        for i, (t, kind) in enumerate(zip(tokens, types))
        if kind in (3, 4)
    ]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    whole = {
        "version": "1.0",
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": True}, byte_level]},
        "post_processor": None,
        "decoder": byte_level,
        "model": {
            "type": "BPE",
            "vocab": {t: i for i, t in enumerate(tokens)},
            "merges": [pair.split(" ") for pair in field(reader, "tokenizer.ggml.merges")],
        },
    }
    (directory / "tokenizer.json").write_text(json.dumps(whole))
    config = {
        "bos_token": tokens[field(reader, "tokenizer.ggml.bos_token_id")],
        "eos_token": tokens[field(reader, "tokenizer.ggml.eos_token_id")],
        "chat_template": field(reader, "tokenizer.chat_template"),
    }
    (directory / "tokenizer_config.json").write_text(json.dumps(config))


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    """A llama with random weights and SmolLM2's vocabulary, in safetensors."""
    directory = tmp_path_factory.mktemp("llama")
    reader = gguf.GGUFReader(run("pull", "smollm2").stdout.strip())
    vocab = len(field(reader, "tokenizer.ggml.tokens"))
    config = {
        "model_type": "llama",
        "vocab_size": vocab,
        "hidden_size": HIDDEN,
        "intermediate_size": HIDDEN,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KV_HEADS,
        "max_position_embeddings": 512,
        "rms_norm_eps": 1e-5,
        "rope_theta": 50000.0,
        "hidden_act": "silu",
        "tie_word_embeddings": True,
    }
    (directory / "config.json").write_text(json.dumps(config))
    write_safetensors(directory / "model.safetensors", random_llama(vocab))
    write_tokenizer(directory, reader)
    return directory


def in_pairs(rows, heads):
    """The rows of llama's Q and K in the order of GGUF."""
    return rows.reshape(heads, 2, rows.shape[0] // heads // 2, rows.shape[1]).swapaxes(1, 2).reshape(rows.shape)


@pytest.mark.parametrize("kind, error", [("q8_0", 0.01), ("q4_0", 0.15), ("q4_k", 0.13)])
def test_another_reader_understands_a_converted_directory(checkpoint, tmp_path, kind, error):
    out = tmp_path / "out.gguf"
    done = run("quantize", str(checkpoint), str(out), "--type", kind)
    assert done.returncode == 0, done.stderr
    reader = gguf.GGUFReader(str(out))
    source = gguf.GGUFReader(run("pull", "smollm2").stdout.strip())
    for key in ("tokens", "token_type", "merges", "pre", "model", "bos_token_id", "eos_token_id"):
        assert field(reader, f"tokenizer.ggml.{key}") == field(source, f"tokenizer.ggml.{key}"), key
    assert field(reader, "tokenizer.chat_template") == field(source, "tokenizer.chat_template")
    assert field(reader, "general.architecture") == "llama"
    assert field(reader, "llama.attention.head_count_kv") == KV_HEADS
    assert field(reader, "llama.rope.freq_base") == 50000.0

    weights = random_llama(len(field(source, "tokenizer.ggml.tokens")))
    tensors = {tensor.name: tensor for tensor in reader.tensors}
    assert len(tensors) == len(weights)
    assert tensors["blk.1.ffn_down.weight"].tensor_type.name == kind.upper()
    assert tensors["blk.1.attn_norm.weight"].tensor_type.name == "F32"
    expected = {
        "token_embd.weight": weights["model.embed_tokens.weight"],
        "blk.1.ffn_down.weight": weights["model.layers.1.mlp.down_proj.weight"],
        "blk.0.attn_v.weight": weights["model.layers.0.self_attn.v_proj.weight"],
        "blk.0.attn_q.weight": in_pairs(weights["model.layers.0.self_attn.q_proj.weight"], HEADS),
        "blk.1.attn_k.weight": in_pairs(weights["model.layers.1.self_attn.k_proj.weight"], KV_HEADS),
    }
    for name, values in expected.items():
        got = gguf.quants.dequantize(tensors[name].data, tensors[name].tensor_type)
        assert numpy.sqrt(((got - values) ** 2).mean() / (values**2).mean()) < error, name


def test_a_quantised_model_still_agrees_with_the_reference(tmp_path):
    source = run("pull", "smollm2").stdout.strip()
    small = tmp_path / "small.gguf"
    done = run("quantize", source, str(small), "--type", "q8_0")
    assert done.returncode == 0, done.stderr
    assert str(small) in done.stdout and "MB" in done.stdout
    assert [file.name for file in tmp_path.iterdir()] == ["small.gguf"]
    check = run("check", "chat", str(small), str(GOLDEN / "real/smollm2.json"))
    assert check.returncode == 0, check.stdout + check.stderr


def test_errors_name_the_file_or_the_flag_and_leave_nothing(tmp_path):
    out = tmp_path / "out.gguf"
    missing = run("quantize", str(tmp_path / "none.gguf"), str(out))
    assert missing.returncode == 1 and "none.gguf" in missing.stderr
    damaged = tmp_path / "damaged.gguf"
    damaged.write_bytes(b"GGUF" + b"\xff" * 100)
    refused = run("quantize", str(damaged), str(out))
    assert refused.returncode == 1 and "damaged.gguf" in refused.stderr
    wrong = run("quantize", str(damaged), str(out), "--type", "q3_7")
    assert wrong.returncode == 2 and "--type" in wrong.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["damaged.gguf"]
