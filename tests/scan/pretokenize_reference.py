"""Pretokens as the reference libraries cut them, in byte offsets, and texts for comparing the engine's scanners.

The references are Hugging Face `tokenizers`, which uses Oniguruma, and `tiktoken`, which uses the regex crate.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import pairwise

import tiktoken
from tokenizers import Regex
from tokenizers.pre_tokenizers import Split

from crayon_hf import _core

FAMILIES = ("gpt2", "cl100k", "llama3", "qwen2", "o200k", "tekken")
FLAVORS = ("oniguruma", "rust_regex")

# -- the references


@cache
def _split(pattern: str) -> Split:
    return Split(Regex(pattern), behavior="isolated")


def oniguruma_ends(pattern: str, text: str) -> list[int]:
    """The end, in bytes, of each piece into which a `Split` of `tokenizers` with this pattern cuts a text."""
    ends, end = [], 0
    for piece, _ in _split(pattern).pre_tokenize_str(text):
        end += len(piece.encode())
        ends.append(end)
    return ends


def tiktoken_agrees(pattern: str, texts: Sequence[str], ends: Sequence[Sequence[int]]) -> list[bool]:
    """For each text, whether tiktoken's pattern cuts it exactly at `ends`.

    tiktoken shows ids, not cuts. So it gets a vocabulary of all expected pieces and of all pairs of neighbours. A piece
    that it cuts as expected has one id. A piece that joins expected ones gets other ids, because merging continues
    while two neighbours make a token. A piece that ends inside an expected one cannot have its id. Hence equal ids mean
    equal cuts.
    """
    ranks = {bytes([byte]): byte for byte in range(256)}
    cut = []
    for text, text_ends in zip(texts, ends, strict=True):
        data = text.encode()
        starts = [0, *text_ends]
        pieces = [data[a:b] for a, b in zip(starts, text_ends, strict=False)]
        for piece in pieces:
            ranks.setdefault(piece, len(ranks))
        for left, right in pairwise(pieces):
            ranks.setdefault(left + right, len(ranks))
        cut.append(pieces)
    encoding = tiktoken.Encoding("cuts", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    return [
        encoding.encode_ordinary(text) == [ranks[piece] for piece in pieces]
        for text, pieces in zip(texts, cut, strict=True)
    ]


def stand_in(data: bytes) -> tuple[str, list[int]]:
    """Any bytes as a text for the references, with the size of each character in `data`.

    Each invalid byte becomes U+FFFD, which is in no class of the patterns.
    """
    escaped = data.decode("utf-8", "surrogateescape")
    sizes = [1 if "\udc80" <= char <= "\udcff" else len(char.encode()) for char in escaped]
    return "".join("\ufffd" if "\udc80" <= char <= "\udcff" else char for char in escaped), sizes


def ends_in_bytes(ends: Iterable[int], text: str, sizes: Sequence[int]) -> list[int]:
    """Convert ends in the text of `stand_in` to ends in its bytes."""
    place, at, end = {0: 0}, 0, 0
    for char, size in zip(text, sizes, strict=True):
        at += len(char.encode())
        end += size
        place[at] = end
    return [place[end] for end in ends]


# -- the texts

LETTERS = "aeZQß\u00e9\u0416\u0436\u01c5\u1f88\u02b0\u05d0\u4e2d\uac00\u3042\u0e01\U0001d400\U00010428\U00020000"
MARKS = "\u0301\u0489\u093e\u20dd\ufe0f\U000e0101\U0001d165"
SPACES = (
    "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u180e\u2000\u2007\u200b\u2028\u2029\u202f\u205f\u2060\u3000\ufeff"
)
NUMBERS = "0129\u00b2\u00bd\u0661\u0967\u2167\u3007\U0001d7d8"
OTHERS = "!/\\.,'\"-_#\u2019\u00ab\u20ac\u2192\u30fb\x00\x7f\U0001f600\u200d\U0001f468\u0378\ue000\U0010ffff\ufffd"
_TAILS = [*"stmdSTMDrvl\u017f\ufb06", "re", "ve", "ll", "RE", "Ve", "rE", "lL", "rs", "\u017ft", "vE\u0301", "r\u0435"]
CONTRACTIONS = [quote + tail for quote in ("'", "\u2019", "''") for tail in _TAILS]
LINES = ["\n", "\r\n", "\r", "\n\n", "\n \n", " \n", "\n ", "\r\n\r\n", ";\n//", "/\n", "\n/", "/\n/\n", "\t\n\t"]
_WORDS = "hello World HTML iPhone don't WE'RE x naïve 中文字 हिन्दी ДОМ дом Ǆ x86"
WORDS = _WORDS.split()
ALPHABETS = (LETTERS, MARKS, SPACES, NUMBERS, OTHERS)
SEAMS = (1, 2, 3, 4, 29, 30, 31, 32, 33, 34, 60, 61, 62, 63, 64, 65, 66, 67, 95, 96, 97, 126, 127, 128, 129, 130)
EASY = ["the ", "of 12 ", "I'm ", "x = 1;\n", "    ", "Foo", "barBaz ", "(a, b)", "2024-01-01", "\n\n", "...", "it's"]


def fragments(rng: random.Random) -> Iterator[str]:
    """Yield endlessly pieces of hostile text in one random style."""
    calm = rng.random()
    while True:
        kind = rng.random()
        if kind < calm * 0.7:
            yield rng.choice(EASY)
        elif kind < 0.72:
            yield rng.choice(rng.choice(ALPHABETS))
        elif kind < 0.80:
            yield rng.choice(("", "", "a", " Z", "中", "don", "IT", "1")) + rng.choice(CONTRACTIONS)
        elif kind < 0.86:
            yield rng.choice(LINES)
        elif kind < 0.93:
            yield rng.choice(WORDS)
        elif kind < 0.94:
            yield rng.choice(("a", "A", "aB", " ", "\n", "!", "1", "'s", " \n", "/", "中", "\u0301")) * rng.choice(
                SEAMS
            )
        elif kind < 0.96:
            # A pretoken almost as long as a block, then one that a cut would change.
            run = rng.choice(("a", "A", "!", "1", " ")) * rng.randrange(55, 66)
            what = rng.choice((CONTRACTIONS, CONTRACTIONS, LINES, WORDS, EASY, LETTERS, MARKS, NUMBERS, OTHERS, SPACES))
            yield rng.choice(("", " ", "\n")) + run + rng.choice(what) + rng.choice(("", "x", " ", "!", "\n"))
        elif kind < 0.975:
            yield chr(rng.choice((rng.randrange(0x80), rng.randrange(0x3000), rng.randrange(0xE000, 0x110000))))
        else:
            yield rng.choice(("a", "x ", " y", "Z", "b's")) + rng.choice((" ", "\t", "!", "", "\n")) * rng.randrange(5)


def hostile_texts(count: int, seed: int) -> Iterator[str]:
    """`count` texts of up to a few hundred bytes. Half of them begin with a run that puts a hostile piece at the border
    between two blocks of 32 or 64 bytes."""
    rng = random.Random(seed)
    for _ in range(count):
        stream = fragments(rng)
        lead = rng.choice(("a", " ", "ab ", "x. ", "1")) * 70
        head = lead[: rng.choice(SEAMS) - 1] if rng.random() < 0.5 else ""
        yield head + "".join(next(stream) for _ in range(rng.choice((1, 2, 3, 5, 8, 13, 21, 40))))


# -- the comparison


def scan(data: bytes, family: str, flavor: str, cpu: str = "", capacity: int = 1024) -> list[int]:
    """The ends of the pretokens that the engine's scanner finds in `data`. `cpu` names an instruction set."""
    return _core._testing.pretokenize(data, family, flavor, cpu, capacity)


def agreed_scan(data: bytes, family: str, flavor: str) -> list[int]:
    """The ends of the pretokens by the engine's scanner, after checking that every instruction set finds the same."""
    first, *others = _core.cpu_levels()
    ends = scan(data, family, flavor, first)
    for cpu in others:
        assert scan(data, family, flavor, cpu) == ends, (cpu, data)
    return ends


def spellings(flavor: str) -> list[tuple[str, str]]:
    """(pattern, family) for every pattern that the engine knows."""
    return [
        (pattern, str(_core.family_of_pattern(pattern, flavor))) for pattern in _core._testing.known_patterns(flavor)
    ]


def first_difference(
    texts: Sequence[str], pattern: str, flavor: str, ends_of: Callable[[bytes], list[int]]
) -> str | None:
    """The shortest of `texts` that `ends_of` cuts differently from the reference with `pattern`, or None."""
    found = [ends_of(text.encode()) for text in texts]
    if flavor == "oniguruma":
        agree = [oniguruma_ends(pattern, text) == ends for text, ends in zip(texts, found, strict=True)]
    else:
        agree = tiktoken_agrees(pattern, texts, found)
    wrong = [text for text, same in zip(texts, agree, strict=True) if not same]
    return min(wrong, key=len) if wrong else None
