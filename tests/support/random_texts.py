"""Texts that are hard to cut into tokens: random sequences of awkward pieces, and a fixed list."""

from __future__ import annotations

import random

_WORDS = """quick isn't word a e é e\u0301 \u0301 \u1100\u1161\u11a8 ... !
👩‍👩‍👧‍👦 👍🏽 🇩🇪 \u200d 字 猫です。 สวัสดี ﬁ Å \ufeff \x00 <|endoftext|>
<|begin_of_text|> <mask> [L] crayon <unk> [CLS] aaaaaaaaaaaa \\n"""
_SPACED = ["The ", " brown ", "fox. ", "It's ", " 12345", *(" " * n for n in (1, 2, 3, 4)), "\n", "\n\n", "\r\n", "\r"]
_SPACED += ["\t", ". ", " \n \n", "\u2029", "? ", "\u00a0", "\u3000", " [L]", "[R] ", "# Title\n", "- item\n"]
_SPACED += ["```\ncode\n```\n", "| a | b |\n", '{"k": [1, 2]}', "def f():\n"]
PIECES = (*_WORDS.split(), *_SPACED)


def random_text(drawn: random.Random, pieces: int) -> str:
    """Return a text of `pieces` random elements of PIECES."""
    return "".join(drawn.choices(PIECES, k=pieces))


def hostile_texts(size: int = 1500) -> list[str]:
    """Return texts with one difficulty each, about `size` characters long."""
    return [
        "",
        "a" * size,
        "👩‍👩‍👧‍👦" * (size // 7),
        "e" + "\u0301" * (size // 20) + "x" * 20,
        "<|endoftext|>" * (size // 13),
        "crayon[L] [R]<|im_start|>" * (size // 25),
        "\u1100\u1161\u11a8" * (size // 3),
        "\r" * size,
        "\r\n" * (size // 2),
        "one line\rand another\r" * (size // 20),
        " " * size,
        "no newline at all, " * (size // 19),
        "\ufeff\u200d\x00" * (size // 9),
    ]
