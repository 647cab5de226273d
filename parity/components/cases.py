"""Tokenizers for ``components``: one for each component and option, and random combinations."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

from crayon_hf.parity.inputs.randomness import Source, source_for

from . import parts as parts
from .models import SPECIALS, Document, make_model, model_names, spelling_of


def _byte_fallback_with_affix(document: Document) -> bool:
    model = document["model"]
    affixes = model.get("continuing_subword_prefix"), model.get("end_of_word_suffix")
    return bool(model.get("byte_fallback") and any(affixes))


DELEGATED: tuple[Callable[[Document], bool], ...] = (_byte_fallback_with_affix,)
"""Documents that are delegated to the reference on purpose; all others must be native."""

SECTIONS = ("normalizer", "pre_tokenizer", "post_processor", "decoder")
SEQUENCES = {
    "normalizer": "normalizers",
    "pre_tokenizer": "pretokenizers",
    "post_processor": "processors",
    "decoder": "decoders",
}


@dataclass(frozen=True)
class Case:
    """A tokenizer to compare: its name, its parsed ``tokenizer.json``, and the name of its model variant."""

    name: str
    document: Document
    model: str

    @property
    def json(self) -> str:
        """The text of the ``tokenizer.json``."""
        return json.dumps(self.document, ensure_ascii=False)

    @property
    def delegated(self) -> bool:
        """Whether this tokenizer is delegated to the reference on purpose."""
        return any(applies(self.document) for applies in DELEGATED)

    def short(self) -> str:
        """The document with the name of its model variant instead of the vocabulary."""
        model = {key: value for key, value in self.document["model"].items() if key not in ("vocab", "merges")}
        shown = {key: value for key, value in self.document.items() if value not in (None, []) and key != "version"}
        shown["added_tokens"] = [
            token for token in self.document["added_tokens"] if token["content"] not in SPECIALS or token["id"] > 6
        ]
        return json.dumps({**shown, "model": {"variant": self.model, **model}})


def _added(content: str, id: int, **flags: bool) -> Document:
    plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {"id": id, "content": content, **plain, **flags}


def assemble(model: str, added: Sequence[Document] = (), **sections: Any) -> Document:
    """Return a document of a model variant and other sections. Special tokens come first among the added tokens."""
    made = make_model(model)
    ids = {name: id for id, (name, _) in enumerate(made["vocab"])} if made["type"] == "Unigram" else made["vocab"]
    specials = [_added(name, ids[name]) for name in SPECIALS]
    size = max(ids.values()) + 1
    new = [token["content"] for token in added if token["content"] not in ids]
    rest = [{**token, "id": ids.get(token["content"]) or size + new.index(token["content"])} for token in added]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [*specials, *rest],
        **dict.fromkeys(SECTIONS),
        **sections,
        "model": made,
    }


_BYTES_ONLY = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
_USUAL: dict[str, Document] = {
    "bytes": {
        "pre_tokenizer": {**_BYTES_ONLY, "use_regex": True},
        "decoder": {**_BYTES_ONLY, "use_regex": True},
    },
    "spaces": {
        "pre_tokenizer": {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True},
        "decoder": {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True},
    },
    "words": {"pre_tokenizer": {"type": "BertPreTokenizer"}, "decoder": None},
}

ADDED_FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")
ADDED = {
    f"added({', '.join(name for name, on in zip(ADDED_FLAGS, flags, strict=True) if on) or 'plain'})": [
        _added(content, 0, **dict(zip(ADDED_FLAGS, flags, strict=True)))
        for content in ("wor", "\u00e9", "\u2581b", "[X]")
    ]
    for flags in product((False, True), repeat=5)
}
ADDED["added(overlapping)"] = [
    _added(content, 0, normalized=len(content) % 2 == 0) for content in ("aa", "aaa", "a b", "<a", "a<", "aaaa")
]
ADDED["added(space)"] = [_added(" ", 0, special=False), _added("  ", 0, rstrip=True)]


def single_cases() -> Iterator[Case]:
    """Every component with every option, by itself in an otherwise plain tokenizer."""

    def case(name: str, model: str, added: Sequence[Document] = (), **sections: Any) -> Case:
        return Case(name, assemble(model, added, **{**_USUAL[spelling_of(model)], **sections}), model)

    for name in model_names():
        yield case(f"model/{name}", name)
        yield case(f"model/{name}, no pre_tokenizer", name, pre_tokenizer=None, decoder=None)
    for name, part in parts.normalizers().items():
        yield case(f"normalizer/{name}", "bpe-bytes", normalizer=part)
        if not name.startswith("Replace"):
            yield case(f"normalizer/{name}, spaces", "unigram, byte_fallback", normalizer=part)
    for name, part in {**parts.pre_tokenizers(), **parts.old_spellings()}.items():
        yield case(f"pre_tokenizer/{name}", "bpe-spaces, byte_fallback", pre_tokenizer=part, decoder=None)
        if name.startswith(("Sequence", "Metaspace", "Digits", "Unicode", "FixedLength", "Whitespace")):
            both = {"type": "Sequence", "pretokenizers": [part, _BYTES_ONLY]}
            yield case(f"pre_tokenizer/{name}, bytes", "bpe-bytes", pre_tokenizer=both)
    for name, part in parts.post_processors().items():
        yield case(f"post_processor/{name}", "bpe-bytes", post_processor=part)
        if not name.startswith("ByteLevel"):
            yield case(f"post_processor/{name}, words", "wordpiece", post_processor=part)
    for name, part in parts.decoders().items():
        models = ["bpe-spaces, byte_fallback"]
        models += ["bpe-bytes"] if "ByteLevel" in json.dumps(part) else []
        models += ["wordpiece", "bpe-words, suffix"] if name.startswith(("WordPiece", "BPEDecoder", "CTC")) else []
        for model in models:
            yield case(f"decoder/{name}, {model}", model, decoder=part)
    for name, tokens in ADDED.items():
        yield case(f"{name}", "bpe-bytes", tokens)
        yield case(f"{name}, lowercase", "bpe-words", tokens, normalizer={"type": "Lowercase"})
    for kind, model in (("BPE", "bpe-words"), ("WordPiece", "wordpiece"), ("Unigram", "unigram")):
        old = case(f"model/{kind}, no type", model)
        del old.document["model"]["type"]
        if kind == "BPE":
            old.document["model"]["merges"] = [" ".join(merge) for merge in old.document["model"]["merges"]]
        yield old


@cache
def _catalogue(section: str) -> tuple[tuple[str, Document], ...]:
    return tuple(getattr(parts, f"{section}s")().items())


def _kind(name: str) -> str:
    return name.partition("(")[0]


def _pick(rng: Source, section: str) -> Document:
    """Pick a random kind, then random options, so that kinds with many options are not more frequent."""
    catalogue = _catalogue(section)
    kind = rng.pick(sorted({_kind(name) for name, _ in catalogue}))
    return rng.pick([part for name, part in catalogue if _kind(name) == kind])


def _several(rng: Source, section: str, most: int) -> Document | None:
    count = rng.between(0, most)
    if count == 0:
        return None
    if count == 1:
        return _pick(rng, section)
    return {"type": "Sequence", SEQUENCES[section]: [_pick(rng, section) for _ in range(count)]}


def random_case(seed: int) -> Case:
    """Return a tokenizer of random components, the same for the same seed."""
    rng = source_for(seed, "components", 0)
    model = rng.pick(model_names())
    usual = _USUAL[spelling_of(model)]
    sections: Document = {
        "normalizer": _several(rng, "normalizer", 3),
        "pre_tokenizer": usual["pre_tokenizer"] if rng.chance(0.3) else _several(rng, "pre_tokenizer", 3),
        "post_processor": _several(rng, "post_processor", 2),
        "decoder": usual["decoder"] if rng.chance(0.3) else _several(rng, "decoder", 3),
    }
    if spelling_of(model) == "bytes" and rng.chance(0.8):
        before = [sections["pre_tokenizer"]] if sections["pre_tokenizer"] else []
        sections["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [*before, _BYTES_ONLY]}
    contents = ("wor", "\u00e9", "a", " ", "\u2581", "[X]", "th", "\u4e00", "<0x41>", "1", "aa", "E")
    added = [
        _added(rng.pick(contents), 0, **{flag: rng.chance(0.4) for flag in ADDED_FLAGS})
        for _ in range(rng.between(0, 3) if rng.chance(0.6) else 0)
    ]
    unique = list({token["content"]: token for token in added}.values())
    document = assemble(model, unique, **sections)
    if rng.chance(0.15):
        document["truncation"] = {
            "direction": rng.pick(("Left", "Right")),
            "max_length": rng.between(4, 12),
            "strategy": rng.pick(("LongestFirst", "OnlyFirst", "OnlySecond")),
            "stride": rng.between(0, 1),
        }
    if rng.chance(0.15):
        document["padding"] = {
            "strategy": rng.pick(("BatchLongest", {"Fixed": 12})),
            "direction": rng.pick(("Left", "Right")),
            "pad_to_multiple_of": rng.pick((None, 3, 8)),
            "pad_id": 5,
            "pad_type_id": rng.below(2),
            "pad_token": "<pad>",
        }
    return Case(f"seed {seed}", document, model)
