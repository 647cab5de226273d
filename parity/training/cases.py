"""Small corpora and options on which trainers of BPE differ: ties, runs, and merges that make known tokens."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from crayon_hf.parity.compare.records import has_surrogates
from crayon_hf.parity.inputs.randomness import Source, source_for
from crayon_hf.parity.inputs.strings import generate
from crayon_hf.util.byte_level import BYTE_LEVEL

Document = dict[str, Any]

LETTERS = ("ab", "abc", "abcd", "abcdef", "aab", "a\u00e9", "\u65e5\u672c\u8a9e", "ab\U0001f642c", "aA\u0301b")
BYTES = sorted(map(chr, BYTE_LEVEL.values()))


@dataclass(frozen=True)
class Case:
    """A training: a tokenizer without a vocabulary, the texts to train it on, and the trainer's options."""

    name: str
    pre_tokenizer: Document | None
    normalizer: Document | None
    texts: tuple[str, ...]
    options: dict[str, Any]
    """The options of ``BpeTrainer``."""
    as_file: bool = False
    """Whether to train from one file, in which each line, with its line break, is a text."""

    def document(self) -> Document:
        """The ``tokenizer.json`` before training."""
        return {
            "version": "1.0",
            "added_tokens": [],
            "normalizer": self.normalizer,
            "pre_tokenizer": self.pre_tokenizer,
            "post_processor": None,
            "decoder": None,
            "model": {"type": "BPE", "vocab": {}, "merges": []},
        }


def pre_tokenizers() -> dict[str, Document | None]:
    """Return the pre-tokenizers that cases take in turn."""
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    cl100k = (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
    )
    split = {"type": "Split", "pattern": {"Regex": cl100k}, "behavior": "Isolated", "invert": False}
    return {
        "none": None,
        "ByteLevel": byte_level,
        "ByteLevel, prefixed": {**byte_level, "add_prefix_space": True},
        "ByteLevel, whole": {**byte_level, "use_regex": False},
        "cl100k": {"type": "Sequence", "pretokenizers": [split, {**byte_level, "use_regex": False}]},
        "Whitespace": {"type": "Whitespace"},
        "WhitespaceSplit": {"type": "WhitespaceSplit"},
        "BertPreTokenizer": {"type": "BertPreTokenizer"},
        "Metaspace": {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True},
        "Metaspace, whole": {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first", "split": False},
        "Digits": {"type": "Digits", "individual_digits": True},
        "Punctuation": {"type": "Punctuation", "behavior": "Contiguous"},
        "CharDelimiterSplit": {"type": "CharDelimiterSplit", "delimiter": "a"},
    }


def normalizers() -> dict[str, Document | None]:
    """Return the normalizers that cases take in turn."""
    found: dict[str, Document | None] = {"none": None}
    found.update({kind: {"type": kind} for kind in ("NFC", "NFKC", "NFD", "Lowercase", "StripAccents")})
    found["Replace"] = {"type": "Replace", "pattern": {"String": "b"}, "content": "aa"}
    found["Prepend"] = {"type": "Prepend", "prepend": "\u2581"}
    return found


def random_case(number: int, seed: int = 1) -> Case:
    """Return a random case, which depends only on its number and the seed."""
    source = source_for(seed, "training", number)
    letters = source.pick(LETTERS)
    pre_tokenizer = source.pick([*pre_tokenizers(), *["none", "ByteLevel"] * 3])
    normalizer = source.pick(list(normalizers())) if source.chance(0.3) else "none"
    texts = _hostile(source) if source.chance(0.15) else _texts(source, letters)
    return Case(
        f"{number}: {pre_tokenizer}, {normalizer}",
        pre_tokenizers()[pre_tokenizer],
        normalizers()[normalizer],
        tuple(texts),
        _options(source, letters, byte_level="Byte" in pre_tokenizer or pre_tokenizer == "cl100k"),
        as_file=source.chance(0.3),
    )


def _word(source: Source, letters: str) -> str:
    kind = source.below(10)
    if kind == 0:
        return source.pick(letters) * source.between(1, 24)
    if kind == 1:
        return source.text(letters, 2, 2) * source.between(1, 12)
    return source.text(letters, 1, source.pick([2, 4, 8, 20]))


def _texts(source: Source, letters: str) -> list[str]:
    texts: list[str] = []
    for _ in range(source.between(0, 12)):
        words = [_word(source, letters) for _ in range(source.pick([1, 1, 3, 8]))]
        text = "".join(word + source.pick(["", " ", " ", "  ", "\n", "\t", ".", "\r\n"]) for word in words)
        texts += [text] * source.pick([1, 1, 1, 2, 3, source.between(1, 30), source.between(1, 400)])
    return texts


def _hostile(source: Source) -> list[str]:
    made = (text for _, text in generate(source.between(5, 40), source.below(1 << 30)))
    return [text for text in made if not has_surrogates((text,))]


def _options(source: Source, letters: str, byte_level: bool) -> dict[str, Any]:
    options: dict[str, Any] = {
        "vocab_size": source.pick([0, 1, 3, 6, 10, 20, 40, 100, 300, 1000]),
        "min_frequency": source.pick([0, 0, 0, 1, 2, 3, 5]),
    }
    if source.chance(0.4):  # single letters, and texts that merges make
        options["special_tokens"] = [source.text(letters, 1, 3) for _ in range(source.between(1, 4))]
    if source.chance(0.3):
        some = [source.pick(letters + "xyz") for _ in range(source.between(0, 4))]
        options["initial_alphabet"] = BYTES if byte_level else some
    if source.chance(0.15):
        options["limit_alphabet"] = source.between(0, 6)
    if source.chance(0.35):
        options["max_token_length"] = source.between(1, 8)
    if source.chance(0.15):
        options["continuing_subword_prefix"] = source.pick(["##", "@", letters[0]])
    if source.chance(0.15):
        options["end_of_word_suffix"] = source.pick(["</w>", letters[0], letters[:2]])
    return options


def names_symbols(case: Case) -> bool:
    """Whether the case has symbols whose ids depend on the order of a hash map in the reference."""
    return bool({"continuing_subword_prefix", "end_of_word_suffix"} & set(case.options))


def with_named_symbols(case: Case, tokens: Iterable[str], seed: int = 1) -> Case:
    """Return the case with a fixed order of symbols that have a prefix or a suffix: these become special tokens.

    ``tokens`` come from a training of the case, and include the letters of its texts.
    """
    source = source_for(seed, f"symbols {case.name}", 0)
    befores = ("", case.options.get("continuing_subword_prefix", ""))
    afters = ("", case.options.get("end_of_word_suffix", ""))
    letters = {token for token in tokens if len(token) == 1}
    symbols = {before + letter + after for letter in letters for before in befores for after in afters} - letters
    shuffled = sorted(symbols, key=lambda symbol: (source.below(1 << 30), symbol))
    named = [*case.options.get("special_tokens", ()), *shuffled]
    return replace(case, name=f"{case.name}, named", options={**case.options, "special_tokens": named})
