"""The vocabularies of a run, as cartridges in a directory that all its processes open."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from importlib.resources import files
from itertools import chain, count
from pathlib import Path
from typing import Any

from crayon_hf import Tokenizer, _core
from crayon_hf.formats.names import meaning_of
from crayon_hf.parity.inputs.texts import UnknownVocabularyError, shared_directory
from crayon_hf.tokenizer.resolve import open_tokenizer

_PATTERN = " pattern"
FAMILIES = tuple(f"{name}{_PATTERN}" for name in ("gpt2", "cl100k", "llama3", "qwen2", "o200k", "tekken"))
"""The names of variants of the profile "lite": its vocabulary with each of the published patterns."""
OTHERS = ("NFC", "added tokens")
"""Two more variants of "lite": one with a normalizer, one with added tokens of every kind."""
_PUBLISHED = {"gpt2": "gpt2/tokenizer.json", "llama3": "llama3/tokenizer.json"}
_PUBLISHED["o200k_base"] = "o200k_base/o200k_base.tiktoken"
_PROFILES = ("profile:lite", "profile:standard", "profile:science")

_CONDITIONS = {
    "crayon": ("single_word",),
    "[L]": ("lstrip",),
    "[R]": ("rstrip",),
    "[B]": ("lstrip", "rstrip", "special"),
    **dict.fromkeys(("    ", "<ab", "b>"), ()),
    "<|é日|>": ("special",),
}
"""The added tokens of the variant "added tokens", with their flags."""


def default_names() -> list[str]:
    """Return three vocabularies to time: published ones of CRAYON_SHARED, else the packaged profiles."""
    shared = shared_directory()
    if shared is not None and all((shared / "vocab" / path).is_file() for path in _PUBLISHED.values()):
        return [str(shared / "vocab" / path) for path in _PUBLISHED.values()]
    return list(_PROFILES)


def open_named(names: Sequence[str], directory: Path) -> list[str]:
    """Write a cartridge for each name into the directory. Return the cartridges' names.

    Raise UnknownVocabularyError for a vocabulary that no GPU encodes with.
    """
    called: list[str] = []
    for name in names:
        tokenizer = open_tokenizer(name)
        if why := why_not(tokenizer):
            raise UnknownVocabularyError(f"{name}: no GPU encodes with this vocabulary: {why}")
        called.append(_short(name, called))
        tokenizer.save(str(directory / f"{called[-1]}.dat"))
    return called


def make(wanted: Iterable[str], directory: Path) -> None:
    """Write cartridges of some of `FAMILIES` and `OTHERS` into the directory."""
    base = json.loads((files("crayon_hf.profiles") / "lite.json").read_bytes())
    for name in sorted(set(wanted)):
        if name == "NFC":
            document = {**_with_pattern(base, "qwen2"), "normalizer": {"type": "NFC"}}
        elif name == "added tokens":
            document = _with_added_tokens(_with_pattern(base, "llama3"))
        else:
            document = _with_pattern(base, name.removesuffix(_PATTERN))
        (directory / f"{name}.dat").write_bytes(_core.compile_tokenizer_json(json.dumps(document).encode(), "{}"))


def why_not(tokenizer: Tokenizer) -> str:
    """Return why no GPU encodes with the tokenizer, or an empty text if GPUs do."""
    engine = tokenizer.__getattribute__("_engine")
    if not isinstance(engine, _core.Engine):
        return f"the engine does not support it ({engine.reason})"
    return _core.why_not_on_device(engine)


def _short(name: str, taken: Sequence[str]) -> str:
    path = Path(meaning_of(name).name)
    stem = path.parent.name if path.stem == "tokenizer" and path.parent.name else path.stem
    used = {*FAMILIES, *OTHERS, *taken}
    return next(each for each in chain([stem], (f"{stem} ({i})" for i in count(2))) if each not in used)


def _with_pattern(base: dict[str, Any], family: str) -> dict[str, Any]:
    split = {"type": "Split", "pattern": {"Regex": _core.canonical_pattern(family)}}
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    steps = [{**split, "behavior": "Isolated", "invert": False}, byte_level]
    return {**base, "pre_tokenizer": {"type": "Sequence", "pretokenizers": steps}}


def _with_added_tokens(document: dict[str, Any]) -> dict[str, Any]:
    plain = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
    first = max(*document["model"]["vocab"].values(), *(token["id"] for token in document["added_tokens"])) + 1
    more = [
        {"id": first + i, "content": content, **plain, **dict.fromkeys(flags, True)}
        for i, (content, flags) in enumerate(_CONDITIONS.items())
    ]
    begin = document["added_tokens"][0]
    special = {"id": begin["content"], "ids": [begin["id"]], "tokens": [begin["content"]]}
    piece = {"SpecialToken": {"id": begin["content"], "type_id": 0}}
    text = {"Sequence": {"id": "A", "type_id": 0}}
    template = {
        "type": "TemplateProcessing",
        "single": [piece, text, piece],
        "pair": [piece, text, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {begin["content"]: special},
    }
    return {**document, "added_tokens": [*document["added_tokens"], *more], "post_processor": template}
