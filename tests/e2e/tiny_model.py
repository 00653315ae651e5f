"""Checkpoints of random weights, and a tokenizer over bytes for them."""

import json
import random
import struct

PAIRS = ['{"', '":', '",', '"}', '"]', "},", "],", "[]", "{}", "[[", "]]", "}}", ": ", ", ", '""', "\\n", "\\u", "00", "12", "-1"]


def letters_of_bytes():
    """GPT-2's printable spelling of bytes."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [b for b in range(256) if b not in printable]
    return {**{b: chr(b) for b in printable}, **{b: chr(256 + i) for i, b in enumerate(rest)}}


def write_tokenizer(folder):
    """Ids 0 to 2 are special tokens; then come the bytes, then pairs of bytes."""
    letters = letters_of_bytes()
    spell = lambda text: "".join(letters[b] for b in text.encode())  # noqa: E731
    vocabulary = {"<pad>": 0, "<s>": 1, "</s>": 2, **{letters[b]: 3 + b for b in range(256)}}
    for pair in PAIRS:
        vocabulary[spell(pair)] = len(vocabulary)
    special = [
        {"id": i, "content": text, "special": True, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
        for i, text in enumerate(["<pad>", "<s>", "</s>"])
    ]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    tokenizer = {
        "version": "1.0",
        "added_tokens": special,
        "normalizer": None,
        "pre_tokenizer": byte_level,
        "post_processor": None,
        "decoder": byte_level,
        "model": {"type": "BPE", "vocab": vocabulary, "merges": [f"{spell(p[0])} {spell(p[1])}" for p in PAIRS]},
    }
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    (folder / "tokenizer_config.json").write_text(json.dumps({"bos_token": "<s>", "eos_token": "</s>"}))
    return vocabulary


def write_weights(folder, context, seed=1):
    """A very small llama with so large a context: one layer, one head of 16, 279 tokens."""
    hidden, inner, vocabulary = 16, 32, 279
    config = {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu", "vocab_size": vocabulary,
        "hidden_size": hidden, "intermediate_size": inner, "num_hidden_layers": 1, "num_attention_heads": 1,
        "num_key_value_heads": 1, "head_dim": hidden, "max_position_embeddings": context, "rms_norm_eps": 1e-5,
        "rope_theta": 500000.0, "tie_word_embeddings": True, "bos_token_id": 1, "eos_token_id": 2,
    }
    layer = "model.layers.0."
    square, tall, wide = [hidden, hidden], [inner, hidden], [hidden, inner]
    shapes = {
        "model.embed_tokens.weight": [vocabulary, hidden], "model.norm.weight": [hidden],
        layer + "input_layernorm.weight": [hidden], layer + "post_attention_layernorm.weight": [hidden],
        **{layer + f"self_attn.{name}_proj.weight": square for name in "qkvo"},
        layer + "mlp.gate_proj.weight": tall, layer + "mlp.up_proj.weight": tall, layer + "mlp.down_proj.weight": wide,
    }
    draw = random.Random(seed)
    header, data = {}, b""
    for name, shape in shapes.items():
        size = shape[0] * (shape[1] if len(shape) > 1 else 1)
        values = [1.0] * size if "norm" in name else [draw.gauss(0, 0.3) for _ in range(size)]
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + 4 * size]}
        data += struct.pack(f"<{size}f", *values)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)
    (folder / "config.json").write_text(json.dumps(config))
