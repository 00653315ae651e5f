"""Makes tests/golden/quants/<TYPE>.bin with numpy and PyPI's `gguf`, whose reading of the block formats is the
reference: a few random blocks as stored in a file, then their numbers as little-endian float32."""

import pathlib

import gguf
import numpy

# Offsets of a block's f16 fields. Random bits there would give infinities and NaNs.
HALVES = {"Q8_0": [0], "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q2_K": [80, 82], "Q3_K": [108],
          "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208], "IQ4_NL": [0], "IQ4_XS": [0], "F16": [0], "BF16": []}
NUM_BLOCKS = 6


def main() -> None:
    rng = numpy.random.default_rng(20240229)
    folder = pathlib.Path(__file__).parent / "quants"
    for name, halves in HALVES.items():
        quant = gguf.GGMLQuantizationType[name]
        block_elems, block_bytes = gguf.GGML_QUANT_SIZES[quant]
        num_blocks = NUM_BLOCKS if block_elems > 1 else 256
        blocks = rng.integers(0, 256, (num_blocks, block_bytes), dtype=numpy.uint8)
        for at in halves:
            # Normal and subnormal numbers of both signs.
            values = rng.normal(size=num_blocks) * 10.0 ** rng.integers(-7, 3, num_blocks)
            blocks[:, at:at + 2] = values.astype("<f2").view(numpy.uint8).reshape(num_blocks, 2)
        if name == "BF16":
            values = rng.normal(size=num_blocks).astype("<f4")
            blocks[:] = values.view("<u2")[1::2].astype("<u2").view(numpy.uint8).reshape(num_blocks, 2)
        raw = blocks.view("<f2") if name == "F16" else blocks
        numbers = gguf.quants.dequantize(raw, quant).astype("<f4")
        (folder / f"{name}.bin").write_bytes(blocks.tobytes() + numbers.tobytes())


main()
