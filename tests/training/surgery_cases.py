"""Small BPE vocabularies of each kind that `extend` (more tokens) and `shrink` (fewer tokens) support."""

from __future__ import annotations

import json
import random
from typing import Any

from tokenizers import decoders, models, normalizers, pre_tokenizers

import crayon_hf
from crayon_hf import Tokenizer
from tests.training.training_cases import corpus

KINDS = ("bytes", "ignore_merges", "metaspace", "marks", "fallback")


def texts(seed: int) -> list[str]:
    """Return random texts to train on, of few letters and of more letters."""
    chance = random.Random(seed)
    made = corpus(seed) + corpus(seed + 500)
    made += [f"<s>{text}</s>" for text in made[:2]]
    return [text * chance.randrange(1, 4) for text in made] + ["aaaa aaaaaaa ab abab ababab"]


def vocabulary(kind: str, seed: int, vocab_size: int = 0) -> Tokenizer:
    """Train a vocabulary on `texts(seed)`, with special tokens before its alphabet or after all other tokens."""
    special = ["<unk>", "<s>", "</s>"]
    quiet: dict[str, Any] = {"show_progress": False, "special_tokens": special}
    if kind in ("bytes", "ignore_merges"):
        size = vocab_size or 262 + seed % 20
        made = crayon_hf.train_bpe(texts(seed), vocab_size=size, **(quiet if seed % 2 else {"show_progress": False}))
    else:
        start = Tokenizer(models.BPE(unk_token="<unk>"))
        if kind == "metaspace":
            start.pre_tokenizer = pre_tokenizers.Metaspace()
        else:
            start.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
            if kind == "marks":  # cuts at spaces in training, but not afterwards
                start.pre_tokenizer = pre_tokenizers.Metaspace()
        start.decoder = decoders.Metaspace()
        if kind == "fallback":
            quiet["special_tokens"] = [*special, *(f"<0x{byte:02X}>" for byte in range(256))]
        size = vocab_size or (40 + seed % 20 if kind != "fallback" else 290 + seed % 20)
        made = crayon_hf.train_bpe(texts(seed), tokenizer=start, vocab_size=size, **quiet)
    document = json.loads(made.to_str())
    document["model"]["ignore_merges"] = kind == "ignore_merges"
    if kind == "ignore_merges":  # tokens that no merge makes, and a merge with one of them
        vocab = document["model"]["vocab"]
        words = ("aba", "abab", "aaaaa", "Ġaab", "cac", "a1", "b1", "ea", "en", "Ã©a", "aÃŁ", "1B", "AB", "Ġb,")
        for word in words:
            vocab.setdefault(word, len(vocab))
        document["model"]["merges"].append(["aba", "b"])
    if kind == "fallback":
        document["model"]["byte_fallback"] = True
        document["added_tokens"] = document["added_tokens"][:3]
    if kind == "marks":
        document["pre_tokenizer"] = None
    made = Tokenizer.from_str(json.dumps(document))
    if kind in ("bytes", "ignore_merges") and seed % 2 == 0:
        made.add_special_tokens(["<s>", "</s>"])  # with ids after the model's
    return made


def strings(seed: int, count: int) -> list[str]:
    """Return texts of few letters, of many letters, and of special tokens."""
    chance = random.Random(seed)
    letters = ["ab ", "aAbB1 ", "éaß漢🙂 ", "aeiou tn\n", " <s></s>a", "ab'.,s 12", "\x00\u0378\uff48▁ "]
    return ["".join(chance.choices(chance.choice(letters), k=chance.randrange(60))) for _ in range(count)]
