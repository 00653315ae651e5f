"""Random Unicode texts in which words, spaces, marks, numbers and special tokens meet in every way."""

import random
import unicodedata

WORDS = (
    "the of and Hello world don't I'LL we've it's function return int main() {} http://example.com/a?b=c 2024-01-02 "
    "3.14159 1,000,000 naïve café Straße ＡＢＣ １２３ ﬁ 你好世界 こんにちは カタカナ 안녕하세요 Привет мир مرحبا שלום नमस्ते "
    "ไทย 👩‍👩‍👧‍👦 🏳️‍🌈 e\u0301 \u0301\u0323 ǅ ſ 'ſ K İ ẞ \u1680 \u2028 \u0085 \u200b \ufeff \u180e ▁ ▁▁ Ġ <0x0A> ## ' \" . , ! ?"
).split(" ")
SPACES = [" ", "  ", "\n", "\n\n", "\t", "\r\n", " \n ", "   \n", "\u00a0", "\u3000", ""]


def _is_settled(character):
    """Whether all Unicode versions since 3.2 agree on it: libraries carry different versions."""
    category = unicodedata.category(character)
    return category not in ("Cn", "Cs") and unicodedata.ucd_3_2_0.category(character) == category


SETTLED = [chr(c) for c in range(0x110000) if _is_settled(chr(c))]
_IS_SETTLED = frozenset(SETTLED)


def texts(count, specials, seed):
    choose = random.Random(seed)

    def piece():
        kind = choose.random()
        if kind < 0.35:
            return choose.choice(WORDS)
        if kind < 0.55:
            return choose.choice(SPACES)
        if kind < 0.70:
            return chr(choose.randint(0, 0x7F))
        if kind < 0.90:
            return choose.choice(SETTLED) if choose.random() < 0.5 else chr(choose.randint(0xA0, 0x2FFF))
        if kind < 0.93 and specials:
            return choose.choice(specials)
        if kind < 0.97:
            return choose.choice("aA1 \n.'") * choose.randint(1, 40)
        return choose.choice(WORDS).upper()

    for _ in range(count):
        text = "".join(piece() for _ in range(choose.randint(1, 30)))
        yield "".join(c for c in text if c in _IS_SETTLED)
