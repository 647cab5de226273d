"""The three kinds of text: of CRAYON_SHARED where there is one, else what every machine has or can make."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

from crayon_hf.parity.inputs.randomness import Source, source_for
from crayon_hf.parity.inputs.texts import documents, find_text, read_text, shared_directory
from crayon_hf.parity.speed.words import new_words

KINDS = {"English": "english", "code": "code", "languages": "multi"}
"""As reports call them, and as the corpus does."""
DOCUMENT = 2048
MOST = 16_000_000
"""Bytes of a text that are not a repetition."""

_SCRIPTS = (
    *((0x61, 0x7A), (0xE0, 0xF6), (0x3B1, 0x3C9), (0x430, 0x44F), (0x561, 0x586), (0x5D0, 0x5EA), (0x627, 0x64A)),
    *((0x905, 0x939), (0xE01, 0xE2E), (0x10D0, 0x10F0), (0x3042, 0x3093), (0x30A2, 0x30F3), (0x4E00, 0x9FA5)),
    (0xAC00, 0xD7A3),
)
"""Letters of one script each, first and last."""
_WITHOUT_SPACES = 0x3042
"""Scripts from here on but the last put no spaces between words."""


def source_of(kind: str) -> str:
    """Where the text comes from, for the report."""
    if _of_corpus(kind) is not None:
        return "the corpus of CRAYON_SHARED"
    made = {"English": "Python's own help", "code": "the sources of Python's library"}
    return made.get(kind, "made: words of random letters of fourteen scripts")


@lru_cache(maxsize=3)
def some_text(kind: str, most: int = MOST) -> bytes:
    """UTF-8 of a kind, at most so many bytes: less where there is no more."""
    path = _of_corpus(kind)
    if path is not None:
        return read_text(path, most)
    if kind == "English":
        text = _help() or " ".join(word for word, _ in zip(new_words(), range(200_000), strict=False))
    elif kind == "code":
        sources = sorted(Path(os.__file__).parent.glob("*.py"))
        text = "".join(source.read_bytes().decode("utf-8", "replace") for source in sources)
    else:
        text = _languages(source_for(25, kind, 0), min(most, 2_000_000))
    return text.encode()[:most].decode("utf-8", "ignore").encode()


def some_documents(kind: str, size: int, most: int = MOST) -> list[str]:
    """Documents of at most 2,048 bytes of UTF-8, `size` bytes in all or a little less; repeated where need be."""
    once = list(documents(some_text(kind, min(most, size)), DOCUMENT))
    of_once = sum(len(text.encode()) for text in once)
    whole, rest = divmod(size, max(1, of_once))
    last: list[str] = []
    for text in once:
        rest -= len(text.encode())
        if rest < 0:
            break
        last.append(text)
    return once * whole + last


def one_text(kind: str, size: int) -> bytes:
    """One text of `size` bytes, or up to three less."""
    data = some_text(kind, min(MOST, size))
    return (data * (size // max(1, len(data)) + 1))[:size].decode("utf-8", "ignore").encode()


def _of_corpus(kind: str) -> Path | None:
    shared = shared_directory()
    return find_text(KINDS[kind]) if shared is not None and (shared / "corpus").is_dir() else None


def _help() -> str:
    try:
        from pydoc_data.topics import topics
    except ImportError:  # a Python without its documentation
        return ""
    return "\n\n".join(topics[name] for name in sorted(topics))


def _languages(rng: Source, size: int) -> str:
    """Lines of one script each. Few words are frequent, and most are rare."""
    lines: list[str] = []
    left = size
    vocabularies = [[_word(rng, *script) for _ in range(3000)] for script in _SCRIPTS]
    while left > 0:
        script = rng.below(len(_SCRIPTS))
        words = vocabularies[script]
        picked = [words[int(len(words) * rng.below(1000) ** 3 / 1e9)] for _ in range(rng.between(4, 20))]
        is_spaced = _SCRIPTS[script][0] < _WITHOUT_SPACES or script == len(_SCRIPTS) - 1
        lines.append((" " if is_spaced else "").join(picked) + rng.pick((".", "!", ", ", "。", "\n", " 12")))
        left -= len(lines[-1].encode())
    return "\n".join(lines)


def _word(rng: Source, first: int, last: int) -> str:
    return "".join(chr(rng.between(first, last)) for _ in range(rng.between(1, 9)))
