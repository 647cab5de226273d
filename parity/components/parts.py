"""Every normalizer, pre-tokenizer, post-processor and decoder of a ``tokenizer.json``, with every option, by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from .charsmap import precompiled
from .models import SPECIALS, Document

BEHAVIORS = ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous")
SCHEMES = ("always", "first", "never")
# Patterns in Oniguruma's syntax: classes, anchors, look-around, laziness, case, empty matches.
PATTERNS = (
    r"\s+",
    r"[aeiou]+",
    r"\p{L}+|\p{N}{1,3}",
    r"\p{N}{1,3}+",
    r"^\s*|\s+$",
    r"(?<=[a-z])(?=[A-Z])",
    r"(?i:'s|'t|'re|'ll)|[^\s\w]",
    r"\s+(?!\S)|\s",
    r"x*",
    r"\b\w",
    r".{2,3}?",
    r"[\u4e00-\u9fff]",
    r"(a|b)(?:c|d)?",
    r"\r?\n",
)
LITERALS = (" ", "▁", "e", "th", "  ", "é", "")


CHARSMAP = {
    "\u00a0": " ",
    "\u3000": " ",
    "\t": " ",
    "\n": " ",
    "\u200b": "",
    "\u00ad": "",
    "ﬁ": "fi",
    "①": "1",
    "Å": "A",
    "A\u030a": "Å",
    "e\u0301": "é",
    "é": "e",
    "…": "...",
    "ｱ": "ア",
    "㌀": "アパート",
    "\u1100\u1161": "가",
    "x": "",
    "🙂": ":)",
}


def _named(kind: str, options: Mapping[str, Sequence[Any]]) -> Iterator[tuple[str, Document]]:
    """Yield a component of this kind with every combination of its options' values. Each has a name for reports."""
    for values in product(*options.values()):
        chosen = dict(zip(options, values, strict=True))
        shown = ", ".join(f"{name}={value!a}" for name, value in chosen.items())
        yield f"{kind}({shown})", {"type": kind, **chosen}


def _patterns() -> list[Document]:
    return [{"Regex": pattern} for pattern in PATTERNS] + [{"String": text} for text in LITERALS]


FLAGS = (False, True)


def normalizers() -> dict[str, Document]:
    """Every normalizer."""
    found: dict[str, Document] = {}
    for kind in ("NFC", "NFD", "NFKC", "NFKD", "Nmt", "Lowercase", "StripAccents", "ByteLevel"):
        found.update(_named(kind, {}))
    found.update(_named("Strip", {"strip_left": FLAGS, "strip_right": FLAGS}))
    found.update(_named("Replace", {"pattern": _patterns(), "content": ("", "▁", "ab\u0301c")}))
    found.update(_named("Prepend", {"prepend": ("▁", "", "é <s>")}))
    names = ("clean_text", "handle_chinese_chars", "strip_accents", "lowercase")
    found.update(_named("BertNormalizer", dict(zip(names, (FLAGS, FLAGS, (None, False, True), FLAGS), strict=True))))
    found["Precompiled"] = precompiled(CHARSMAP)
    found["Sequence()"] = {"type": "Sequence", "normalizers": []}
    llama = [{"type": "Prepend", "prepend": "▁"}, found["Replace(pattern={'String': ' '}, content='\\u2581')"]]
    t5 = [found["Precompiled"], {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}]
    albert = [
        {"type": "Replace", "pattern": {"String": "``"}, "content": '"'},
        {"type": "NFKD"},
        {"type": "StripAccents"},
        {"type": "Lowercase"},
        {"type": "Strip", "strip_left": False, "strip_right": True},
    ]
    for name, parts in (("llama", llama), ("t5", t5), ("albert", albert)):
        found[f"Sequence({name})"] = {"type": "Sequence", "normalizers": parts}
    nested = {"type": "Sequence", "normalizers": [found["Sequence(llama)"], {"type": "NFC"}]}
    found["Sequence(nested)"] = nested
    return found


def pre_tokenizers() -> dict[str, Document]:
    """Every pre-tokenizer."""
    found: dict[str, Document] = {}
    for kind in ("BertPreTokenizer", "Whitespace", "WhitespaceSplit", "UnicodeScripts"):
        found.update(_named(kind, {}))
    found.update(_named("ByteLevel", {"add_prefix_space": FLAGS, "trim_offsets": FLAGS, "use_regex": FLAGS}))
    found.update(_named("Split", {"pattern": _patterns(), "behavior": BEHAVIORS, "invert": FLAGS}))
    options = {"replacement": ("▁", "_", "é"), "prepend_scheme": SCHEMES, "split": FLAGS}
    found.update(_named("Metaspace", options))
    found.update(_named("Punctuation", {"behavior": BEHAVIORS}))
    found.update(_named("Digits", {"individual_digits": FLAGS}))
    found.update(_named("CharDelimiterSplit", {"delimiter": (" ", "-", "é", "中")}))
    found.update(_named("FixedLength", {"length": (1, 2, 5)}))
    found["Sequence()"] = {"type": "Sequence", "pretokenizers": []}
    bert = {"type": "BertPreTokenizer"}
    mixed = [{"type": "WhitespaceSplit"}, {"type": "Digits", "individual_digits": True}, bert]
    scripts = [{"type": "UnicodeScripts"}, {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first"}]
    found["Sequence(mixed)"] = {"type": "Sequence", "pretokenizers": mixed}
    found["Sequence(scripts)"] = {"type": "Sequence", "pretokenizers": scripts}
    found["Sequence(nested)"] = {"type": "Sequence", "pretokenizers": [found["Sequence(mixed)"], found["Whitespace()"]]}
    return found


def old_spellings() -> dict[str, Document]:
    """Return pre-tokenizers as older versions write them, with missing options that the reference fills in."""
    return {
        "Metaspace, old": {"type": "Metaspace", "replacement": "▁", "add_prefix_space": True},
        "Metaspace, old, str_rep": {
            "type": "Metaspace",
            "replacement": "▁",
            "str_rep": "▁",
            "add_prefix_space": True,
        },
        "Metaspace, contradicting": {"type": "Metaspace", "replacement": "▁", "add_prefix_space": False},
        "Metaspace, old, never": {
            "type": "Metaspace",
            "replacement": "▁",
            "add_prefix_space": False,
            "prepend_scheme": "never",
        },
        "Metaspace, replacement only": {"type": "Metaspace", "replacement": "▁"},
        "ByteLevel, old": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True},
        "Digits, old": {"type": "Digits"},
        "Punctuation, old": {"type": "Punctuation"},
        "Split, no invert": {"type": "Split", "pattern": {"Regex": r"\s"}, "behavior": "Isolated"},
    }


def _piece(name: str, type_id: int) -> Document:
    if name.startswith("$"):
        return {"Sequence": {"id": name[1:], "type_id": type_id}}
    return {"SpecialToken": {"id": name, "type_id": type_id}}


def template(single: str, pair: str) -> Document:
    """A TemplateProcessing from ``token:type`` pieces. A special token named ``<s></s>`` expands to two ids."""

    def pieces(text: str) -> list[Document]:
        return [_piece(name, int(type_id or 0)) for name, _, type_id in (part.partition(":") for part in text.split())]

    used = {part.partition(":")[0] for part in f"{single} {pair}".split() if not part.startswith("$")}
    special = {name: {"id": name, "ids": [SPECIALS.index(name)], "tokens": [name]} for name in SPECIALS if name in used}
    if "<s></s>" in used:
        special["<s></s>"] = {"id": "<s></s>", "ids": [1, 2], "tokens": ["<s>", "</s>"]}
    return {"type": "TemplateProcessing", "single": pieces(single), "pair": pieces(pair), "special_tokens": special}


def post_processors() -> dict[str, Document]:
    """Every post-processor."""
    found: dict[str, Document] = {}
    found.update(_named("ByteLevel", {"add_prefix_space": FLAGS, "trim_offsets": FLAGS, "use_regex": FLAGS}))
    bert = {"type": "BertProcessing", "sep": ["[SEP]", 4], "cls": ["[CLS]", 3]}
    found["BertProcessing"] = bert
    for name, roberta in _named("RobertaProcessing", {"trim_offsets": FLAGS, "add_prefix_space": FLAGS}):
        found[name] = {**roberta, "sep": ["</s>", 2], "cls": ["<s>", 1]}
    templates = {
        "bert": template("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1"),
        "llama": template("<s> $A", "<s> $A <s>:1 $B:1"),
        "t5": template("$A </s>", "$A </s> $B </s>"),
        "plain": template("$A", "$A $B"),
        "turned": template("$A:3 <s>:2", "$B:1 [SEP]:2 $A:5"),
        "two in one": template("<s></s> $A", "<s></s> $A $B:1 <s></s>:1"),
        "twice": template("$A [SEP] $A:1", "$A $B:1 $A:2"),
    }
    found.update((f"Template({name})", value) for name, value in templates.items())
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    sequences = {
        "none": [],
        "llama3": [{**byte_level, "trim_offsets": False}, templates["llama"]],
        "trimmed": [byte_level, templates["bert"]],
        "bert then byte level": [bert, byte_level],
        "two templates": [templates["llama"], templates["t5"]],
        "nested": [{"type": "Sequence", "processors": [byte_level]}, templates["t5"]],
    }
    for name, parts in sequences.items():
        found[f"Sequence({name})"] = {"type": "Sequence", "processors": parts}
    return found


def decoders() -> dict[str, Document]:
    """Every decoder."""
    found: dict[str, Document] = {}
    for kind in ("ByteFallback", "Fuse"):
        found.update(_named(kind, {}))
    found.update(_named("ByteLevel", {"add_prefix_space": FLAGS, "trim_offsets": FLAGS, "use_regex": FLAGS}))
    found.update(_named("Replace", {"pattern": _patterns(), "content": ("", " ", "ab\u0301c")}))
    found.update(_named("WordPiece", {"prefix": ("##", "", "@@"), "cleanup": FLAGS}))
    found.update(_named("Metaspace", {"replacement": ("▁", "_"), "prepend_scheme": SCHEMES, "split": FLAGS}))
    found.update(_named("BPEDecoder", {"suffix": ("</w>", "", "e")}))
    options = {"pad_token": ("<pad>", "e"), "word_delimiter_token": ("|", "▁"), "cleanup": FLAGS}
    found.update(_named("CTC", options))
    found.update(_named("Strip", {"content": (" ", "▁", "e"), "start": (0, 1, 2), "stop": (0, 1)}))
    space = {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}
    fuse, fallback = {"type": "Fuse"}, {"type": "ByteFallback"}
    metaspace = found["Metaspace(replacement='\\u2581', prepend_scheme='always', split=True)"]
    sequences = {
        "none": [],
        "llama": [space, fallback, fuse, {"type": "Strip", "content": " ", "start": 1, "stop": 0}],
        "fused first": [fuse, space, fallback],
        "fallback, metaspace": [fallback, metaspace],
        "word piece twice": [{"type": "WordPiece", "prefix": "##", "cleanup": True}] * 2,
        "byte level last": [fuse, {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True}],
        "nested": [{"type": "Sequence", "decoders": [space, fuse]}, found["Strip(content=' ', start=1, stop=1)"]],
    }
    for name, parts in sequences.items():
        found[f"Sequence({name})"] = {"type": "Sequence", "decoders": parts}
    return found
