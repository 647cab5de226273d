"""Small models for ``components``: trained by ``tokenizers`` on generated text, the same in every process.

Every vocabulary begins with the same special tokens, so that any post-processor fits any model.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from copy import deepcopy
from functools import cache
from typing import Any

from crayon_hf.parity.inputs.strings import generate

Document = dict[str, Any]

SPECIALS = ("<unk>", "<s>", "</s>", "[CLS]", "[SEP]", "<pad>", "<mask>")
BYTES = tuple(f"<0x{byte:02X}>" for byte in range(256))
TRAINING_CATEGORIES = ("prose", "contractions", "mixed_scripts", "cjk", "rtl", "combining", "code", "digits", "latin_1")
LETTERS = 120
"""The number of characters that the models know; other characters are left out of the text."""
LEARNED = 260
"""The number of tokens of more than one character."""


@cache
def training_text() -> tuple[str, ...]:
    """A few hundred short texts of many kinds."""
    texts = [text[:200] for _, text in generate(450, 20, TRAINING_CATEGORIES, SPECIALS)]
    counts = Counter("".join(texts))
    known = set(sorted(counts, key=lambda ch: (-counts[ch], ch))[:LETTERS])
    return tuple("".join([ch for ch in text if ch in known]) for text in texts)


def _letters() -> list[str]:
    return sorted(set("".join(training_text())))


@cache
def _trained(kind: str, spelling: str, options: tuple[tuple[str, Any], ...]) -> Document:
    import tokenizers
    from tokenizers import models, pre_tokenizers, trainers

    steps: dict[str, Any] = {
        "bytes": pre_tokenizers.ByteLevel(add_prefix_space=False),
        "spaces": pre_tokenizers.Metaspace(),
        "words": pre_tokenizers.BertPreTokenizer(),
    }
    made: dict[str, Any] = {
        "BPE": models.BPE,
        "WordPiece": models.WordPiece,
        "Unigram": models.Unigram,
        "WordLevel": models.WordLevel,
    }
    tokenizer = tokenizers.Tokenizer(made[kind]())
    tokenizer.pre_tokenizer = steps[spelling]
    trainer: Any = trainers.BpeTrainer if kind == "BPE" else getattr(trainers, f"{kind}Trainer")
    # The trainer numbers letters, and letters that start words, in the order of a hash map. Fix the numbers here.
    chosen = dict(options)
    prefix, suffix = chosen.get("continuing_subword_prefix") or "", chosen.get("end_of_word_suffix") or ""
    if kind == "WordPiece" and "continuing_subword_prefix" not in chosen:
        prefix = "##"
    known = [*_letters(), "▁"] if kind in ("BPE", "WordPiece") and spelling != "bytes" else []
    forms = dict.fromkeys((begin + ch + end) for begin in ("", prefix) for end in ("", suffix) for ch in known)
    special = [*SPECIALS, *forms]
    settings = {"special_tokens": special, "show_progress": False}
    size = len(special) + LEARNED + (256 if spelling == "bytes" else LETTERS if kind == "Unigram" else 0)
    tokenizer.train_from_iterator(training_text(), trainer(**{**settings, **chosen, "vocab_size": size}))
    model: Document = json.loads(tokenizer.to_str())["model"]
    return model


def _model(kind: str, spelling: str, train: dict[str, Any] | None = None, **changes: Any) -> Document:
    return {**deepcopy(_trained(kind, spelling, tuple(sorted((train or {}).items())))), **changes}


def _bpe(spelling: str, train: dict[str, Any] | None = None, **changes: Any) -> Document:
    alphabet: Sequence[str] = ()
    if spelling == "bytes":
        from tokenizers import pre_tokenizers

        alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    train = {**({"initial_alphabet": tuple(alphabet)} if alphabet else {}), **(train or {})}
    return _model("BPE", spelling, train, **changes)


def _with_byte_tokens(model: Document, leave_out: int = 256) -> Document:
    """Add the tokens of byte fallback to a model: all of them, or all but one."""
    names = [name for byte, name in enumerate(BYTES) if byte != leave_out]
    if isinstance(model["vocab"], list):
        model["vocab"] += [[name, -20.0 - 0.01 * i] for i, name in enumerate(names)]
    else:
        size = len(model["vocab"])
        model["vocab"].update((name, size + i) for i, name in enumerate(names))
    return model


def _unigram(spelling: str = "spaces", **changes: Any) -> Document:
    # The trainer's sums depend on a random order; rounded scores are the same every time.
    model = _model("Unigram", spelling, {"unk_token": "<unk>"}, **changes)
    fixed, rest = model["vocab"][: len(SPECIALS)], model["vocab"][len(SPECIALS) :]
    rounded = sorted(([name, round(score, 4)] for name, score in rest), key=lambda entry: (-entry[1], entry[0]))
    model["vocab"] = [*fixed, *rounded]
    return model


def _coarse(model: Document) -> Document:
    """Round the scores to few values, so that many ways to divide a text have the same total score."""
    model["vocab"] = [[name, float(round(score / 3)) * 3] for name, score in model["vocab"]]
    return model


def _without(model: Document, names: Sequence[str]) -> Document:
    """Rename some tokens to texts that never occur, and remove the merges that need them."""
    model["vocab"] = {f"(was {name})" if name in names else name: id for name, id in model["vocab"].items()}
    model["merges"] = [merge for merge in model["merges"] if not {*merge, "".join(merge)} & set(names)]
    return model


def _with_long_tokens(model: Document) -> Document:
    """Add whole words as tokens that no merge makes, for ``ignore_merges``."""
    words = ("Ġinternational", "Ġconfiguration", "HTTP", "Ġ ", "tion", "xq")
    size = len(model["vocab"])
    new = [word for word in words if word not in model["vocab"]]
    model["vocab"].update((word, size + i) for i, word in enumerate(new))
    return model


@cache
def model_names() -> tuple[str, ...]:
    """Every model variant, in a fixed order."""
    return tuple(_MAKERS)


@cache
def _made(name: str) -> str:
    return json.dumps(_MAKERS[name]())  # parsing takes a quarter of the time of a deep copy


def make_model(name: str) -> Document:
    """Return a model variant by name. The caller may change it."""
    made: Document = json.loads(_made(name))
    return made


def spelling_of(name: str) -> str:
    """Return how a variant's tokens spell text: ``bytes`` (byte level), ``spaces`` (Metaspace) or ``words``."""
    if name.startswith("bpe-bytes"):
        return "bytes"
    return "spaces" if name.startswith(("bpe-spaces", "unigram")) else "words"


_PREFIX: dict[str, Any] = {"continuing_subword_prefix": "##"}
_SUFFIX: dict[str, Any] = {"end_of_word_suffix": "</w>"}
_UNK: dict[str, Any] = {"unk_token": "<unk>"}

_MAKERS: dict[str, Any] = {
    "bpe-bytes": lambda: _bpe("bytes"),
    "bpe-bytes, ignore_merges": lambda: _with_long_tokens(_bpe("bytes", ignore_merges=True)),
    "bpe-bytes, unreachable tokens": lambda: _with_long_tokens(_bpe("bytes")),
    "bpe-bytes, dropout 0": lambda: _bpe("bytes", dropout=0.0),
    "bpe-bytes, dropout 1": lambda: _bpe("bytes", dropout=1.0),
    "bpe-bytes, unk": lambda: _without(_bpe("bytes", **_UNK), ("!", "©", "7")),
    "bpe-spaces": lambda: _bpe("spaces", **_UNK),
    "bpe-spaces, no unk": lambda: _bpe("spaces"),
    "bpe-spaces, fuse_unk": lambda: _bpe("spaces", fuse_unk=True, **_UNK),
    "bpe-spaces, byte_fallback": lambda: _with_byte_tokens(_bpe("spaces", byte_fallback=True, fuse_unk=True, **_UNK)),
    "bpe-spaces, byte_fallback, no unk": lambda: _with_byte_tokens(_bpe("spaces", byte_fallback=True)),
    "bpe-spaces, byte_fallback with a gap": lambda: _with_byte_tokens(
        _bpe("spaces", byte_fallback=True, **_UNK), leave_out=0xE4
    ),
    "bpe-spaces, byte_fallback, fuse_unk with a gap": lambda: _with_byte_tokens(
        _bpe("spaces", byte_fallback=True, fuse_unk=True, **_UNK), leave_out=0xE4
    ),
    "bpe-spaces, byte_fallback with no byte tokens": lambda: _bpe("spaces", byte_fallback=True, **_UNK),
    "bpe-spaces, byte_fallback, ignore_merges": lambda: _with_byte_tokens(
        _bpe("spaces", byte_fallback=True, ignore_merges=True, **_UNK)
    ),
    "bpe-words": lambda: _bpe("words", **_UNK),
    "bpe-words, prefix": lambda: _bpe("words", _PREFIX, **_UNK),
    "bpe-words, suffix": lambda: _bpe("words", _SUFFIX, **_UNK),
    "bpe-words, prefix and suffix": lambda: _bpe("words", {**_PREFIX, **_SUFFIX}, **_UNK),
    "bpe-words, prefix, fuse_unk": lambda: _bpe("words", _PREFIX, fuse_unk=True, **_UNK),
    "bpe-words, suffix, byte_fallback": lambda: _with_byte_tokens(_bpe("words", _SUFFIX, byte_fallback=True, **_UNK)),
    "bpe-words, suffix, dropout 1": lambda: _bpe("words", _SUFFIX, dropout=1.0, **_UNK),
    "wordpiece": lambda: _model("WordPiece", "words", unk_token="<unk>"),
    "wordpiece, short words": lambda: _model("WordPiece", "words", unk_token="<unk>", max_input_chars_per_word=5),
    "wordpiece, @@": lambda: _model(
        "WordPiece", "words", {"continuing_subword_prefix": "@@"}, unk_token="<unk>", continuing_subword_prefix="@@"
    ),
    "wordpiece, no prefix": lambda: _model(
        "WordPiece", "words", {"continuing_subword_prefix": ""}, unk_token="<unk>", continuing_subword_prefix=""
    ),
    "wordpiece, no unk": lambda: _model("WordPiece", "words", unk_token="[UNK]"),
    "unigram": lambda: _unigram(),
    "unigram, ties": lambda: _coarse(_unigram()),
    "unigram, no unk": lambda: _unigram(unk_id=None),
    "unigram, another unk": lambda: _unigram(unk_id=6),
    "unigram, byte_fallback": lambda: _with_byte_tokens(_unigram(byte_fallback=True)),
    "unigram, byte_fallback with a gap": lambda: _with_byte_tokens(_unigram(byte_fallback=True), leave_out=0xE4),
    "unigram, byte_fallback, no unk": lambda: _with_byte_tokens(_unigram(byte_fallback=True, unk_id=None)),
    "unigram, words": lambda: _unigram("words"),
    "wordlevel": lambda: _model("WordLevel", "words", unk_token="<unk>"),
    "wordlevel, no unk": lambda: _model("WordLevel", "words", unk_token="[UNK]"),
}
