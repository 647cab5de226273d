"""Small corpora and tokenizers for all tests of training."""

from __future__ import annotations

import random
from typing import Any

from tokenizers import AddedToken, Regex, models, normalizers, pre_tokenizers, trainers

TEXTS = [
    "Hello hello world, the quick brown fox; it's 2024!\n",
    "  spaced   out\t\ttabs \r\n and lines\n\n",
    "Größe und Öl, déjà vu, 漢字かな交じり文, Быстрая лиса 🙂🙂",
    "def encode(self, text: str) -> list[int]:\n    return [self.vocab[t] for t in text.split()]\n",
    "",
    "the the the then them theme <s> [x] aaaa aaaaaaa",
]

CUTS = {
    "gpt2": lambda: pre_tokenizers.ByteLevel(add_prefix_space=False),
    "prefix_space": lambda: pre_tokenizers.ByteLevel(add_prefix_space=True),
    "split_bytes": lambda: pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(r"\p{N}{1,3}|[^\r\n\p{L}\p{N}]?\p{L}+|\s+"), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    ),
    "bytes_first": lambda: pre_tokenizers.Sequence(
        [pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False), pre_tokenizers.Digits()]
    ),
    "whitespace": lambda: pre_tokenizers.Whitespace(),
    "white_split": lambda: pre_tokenizers.WhitespaceSplit(),
    "metaspace": lambda: pre_tokenizers.Metaspace(),
    "bert": lambda: pre_tokenizers.BertPreTokenizer(),
    "none": lambda: None,
}

NORMALIZERS = {
    "none": lambda: None,
    "lower": lambda: normalizers.Lowercase(),
    "nfkc": lambda: normalizers.NFKC(),
    "strip": lambda: normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents(), normalizers.Strip()]),
}


def build(tokenizer_class: Any, cut: str = "gpt2", normalizer: str = "none", **model: Any) -> Any:
    """An untrained BPE tokenizer of this class, ours or that of ``tokenizers``."""
    tokenizer = tokenizer_class(models.BPE(**model))
    if (made := CUTS[cut]()) is not None:
        tokenizer.pre_tokenizer = made
    if (norm := NORMALIZERS[normalizer]()) is not None:
        tokenizer.normalizer = norm
    return tokenizer


def trainer(**options: Any) -> trainers.BpeTrainer:
    """A trainer without progress."""
    return trainers.BpeTrainer(show_progress=False, **options)


def corpus(seed: int) -> list[str]:
    """Random texts of few letters, so that many pairs have the same count."""
    chance = random.Random(seed)
    letters = chance.choice(("ab", "abc", "aAbB1 ", "éaß漢🙂", "aeiou tn\n", "ab'.,s 12"))
    return ["".join(chance.choices(letters + " ", k=chance.randrange(40))) for _ in range(chance.randrange(1, 12))]


def added(seed: int) -> list[AddedToken]:
    """Added tokens of all kinds, some of which occur in the corpora."""
    chance = random.Random(seed)
    contents = chance.sample(["ab", "<x>", "a b", "aa", "漢🙂", "[y]", "b1"], chance.randrange(4))
    return [
        AddedToken(
            content,
            single_word=chance.random() < 0.2,
            lstrip=chance.random() < 0.3,
            rstrip=chance.random() < 0.3,
            normalized=chance.random() < 0.5,
            special=chance.random() < 0.3,
        )
        for content in contents
    ]
