"""Small vocabularies of every published shape, as ``tokenizer.json`` documents: what the targets encode with.

Made without randomness and without other libraries, so that an input means the same on every machine. The targets of
the engine have them compiled in, in this order, and inputs name them by number: new ones go to the end.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

Document = dict[str, Any]

PAGE = Path(__file__).resolve().parents[2] / "docs" / "cartridge-format.md"
FAMILIES = ("gpt2", "cl100k", "llama3", "qwen2", "o200k", "tekken")
WORDS = (
    " the", " of", "ing", " hello", " world", "'s", "n't", "  ", "    ", "\n\n", "\r\n", "12", "123", "2024", "==",
    "...", " é", "é", "ñ", " мир", "мир", "中文", "中", "한", "🙂", "\u0301", "aaaa", "aaaaaaaa", "abab", "ab", " a",
    "//", "://", "HTML", "Html", "def", "\u00a0", "\u2003", "\xff",
    # What patterns divide, some of them: where a cut changes ids.
    "o'", "s'", "é'", "a1", "1a", "e.", ".e", "1.", ".1", "!\n", "\n!", "/a", "a/", "Aa", "aA", "e\u0301", "\u0301e",
    " \n", "\n ", " 1", " !", "!!", "中a", "a中", "1中", "\t", "\ta", "_a", "a_",
)  # fmt: skip
CHARSMAP = (
    "AAQAAAAEAAAAAACAAgAAgAQAAIAHAACACQAAgAoAAIAMAACACSUAAA8AAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAACCNAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAABllAEAAAAAAA"
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAgQ0CAIAAAgAAAAAAgRECAAAAAAAAAAAAAAAAAIY5AgAAAAAAAAAAAIs9AgAAAAAAAAAAAAAAAAAAAAAAAA"
    "AAAJFEAgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAoJ0CAAAAAAAAAAAA"
    "AAAAAAAAAAAAAAAAAAAAAKmxAgAAAAAAAAAAAAAAAAAAAAAArLwCAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    "AAAAAAAAAAAAAAAAAAvfQCAAAAAAAAAAAAAAAAAAAAAAAAAAAAwwwDAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAADM"
    "MAMAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    "AAAAAA4ogDAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAADvvAMAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAgACAAw6kAZQAAMQBmaQBmAA=="
)
"""Maps é, U+FF46, ①, the no-break space, ﬁ, the tab, U+200B and e + U+0301."""

BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
METASPACE = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
LLAMA = {
    "type": "Sequence",
    "normalizers": [
        {"type": "Prepend", "prepend": "▁"},
        {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
    ],
}


def documents() -> dict[str, Document]:
    """All of them by name, in the order of their numbers."""
    return {**_byte_level(), **_byte_level_odd(), **_bpe_on_text(), **_unigram(), **_words()}


def alphabet() -> list[str]:
    """The 256 characters of the byte-level alphabet, by byte."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [b for b in range(256) if b not in printable]
    chars = {b: chr(b) for b in printable} | {b: chr(0x100 + i) for i, b in enumerate(others)}
    return [chars[b] for b in range(256)]


def patterns() -> dict[str, str]:
    """The families' patterns, from the page of the format."""
    block = re.search(r"```\n(gpt2 .*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    if block is None:
        raise ValueError(f"{PAGE} has no list of patterns")
    return dict(line.split(maxsplit=1) for line in block[1].splitlines())


def split(pattern: str, behavior: str = "Isolated", invert: bool = False) -> Document:
    """The pre-tokenizer Split."""
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior, "invert": invert}


def added(token_id: int, content: str, **flags: bool) -> Document:
    """An added token; flags that are not given are false."""
    names = ("single_word", "lstrip", "rstrip", "normalized", "special")
    return {"id": token_id, "content": content, **{name: flags.get(name, False) for name in names}}


def document(model: Document, **parts: Any) -> Document:
    """A tokenizer.json of this model; components that are not given are null."""
    empty = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": []}
    null = dict.fromkeys(("normalizer", "pre_tokenizer", "post_processor", "decoder"))
    return {**empty, **null, **parts, "model": model}


def _chain(symbols: list[str], vocab: dict[str, int], merges: list[list[str]]) -> None:
    """Merges that make one token of these symbols, from the left; long ones of two halves, so that merges nest."""
    while len(symbols) > 1:
        pair = symbols[:2]
        if "".join(pair) not in vocab:
            vocab["".join(pair)] = len(vocab)
            merges.append(pair)
        symbols = ["".join(pair), *symbols[2:]]


def byte_level_model(**options: Any) -> Document:
    """BPE over bytes."""
    chars = alphabet()
    vocab = {c: i for i, c in enumerate(chars)}
    merges: list[list[str]] = []
    for word in WORDS:
        _chain([chars[b] for b in word.encode()], vocab, merges)
    return {"type": "BPE", "vocab": vocab, "merges": merges, **options}


def _on_bytes(pattern: str | None = None, **parts: Any) -> Document:
    pre = BYTE_LEVEL if pattern is None else {"type": "Sequence", "pretokenizers": [split(pattern), BYTE_LEVEL]}
    options = parts.pop("options", {})
    return document(byte_level_model(**options), **{"pre_tokenizer": pre, "decoder": BYTE_LEVEL, **parts})


def _byte_level() -> dict[str, Document]:
    made = {name: _on_bytes(patterns()[name]) for name in FAMILIES}
    made["whole"] = _on_bytes()
    made["llama3"]["model"]["ignore_merges"] = True
    made["qwen2"]["normalizer"] = {"type": "NFC"}
    return made


def _byte_level_odd() -> dict[str, Document]:
    n = len(byte_level_model()["vocab"])
    tokens = [
        added(n, "<s>", special=True),
        added(n + 1, "<mask>", lstrip=True, rstrip=True, special=True),
        added(n + 2, "crayon", single_word=True, normalized=True),
        added(n + 3, "é!", normalized=True),
        added(n + 4, " [X] ", rstrip=True),
        added(n + 5, "[L]", lstrip=True, normalized=True),
    ]
    template = {
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [
            {"SpecialToken": {"id": "<s>", "type_id": 0}},
            {"Sequence": {"id": "A", "type_id": 0}},
            {"SpecialToken": {"id": "<s>", "type_id": 1}},
            {"Sequence": {"id": "B", "type_id": 1}},
        ],
        "special_tokens": {"<s>": {"id": "<s>", "ids": [n], "tokens": ["<s>"]}},
    }
    prefix = {**BYTE_LEVEL, "add_prefix_space": True, "use_regex": True}
    roberta = {
        "type": "RobertaProcessing",
        "sep": ["<mask>", n + 1],
        "cls": ["<s>", n],
        "trim_offsets": True,
        "add_prefix_space": True,
    }
    deepseek = {
        "type": "Sequence",
        "pretokenizers": [
            split(r"\p{N}{1,3}"),
            split("[一-龥぀-ゟ\u30a0-ヿ]+"),
            split(
                r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
                r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
            ),
            BYTE_LEVEL,
        ],
    }
    longest = {
        "type": "WordPiece",
        "unk_token": "a",
        "continuing_subword_prefix": "",
        "max_input_chars_per_word": 2**53 - 1,
        "vocab": byte_level_model()["vocab"],
    }
    nfkc = {"type": "Sequence", "normalizers": [{"type": "NFKC"}, {"type": "Lowercase"}, {"type": "StripAccents"}]}
    return {
        "added": _on_bytes(
            patterns()["gpt2"], added_tokens=tokens, post_processor=template, normalizer={"type": "NFC"}
        ),
        "roberta": _on_bytes(pre_tokenizer=prefix, added_tokens=tokens, post_processor=roberta),
        "deepseek": _on_bytes(pre_tokenizer=deepseek),
        "digits": _on_bytes(
            pre_tokenizer={
                "type": "Sequence",
                "pretokenizers": [{"type": "Digits", "individual_digits": True}, {"type": "Punctuation"}, BYTE_LEVEL],
            },
            normalizer=nfkc,
        ),
        "removed": _on_bytes(
            pre_tokenizer={
                "type": "Sequence",
                "pretokenizers": [split(r"(?=[aeiou])|\s+|(?<=x)y", "Removed"), BYTE_LEVEL],
            }
        ),
        "longest": document(longest, pre_tokenizer={**BYTE_LEVEL, "use_regex": True}, decoder=BYTE_LEVEL),
    }


def _letters(mark: str = "") -> list[str]:
    return [mark + c for c in "abcdefghijklmnopqrstuvwxyzHTML0123456789'.,!/=▁éñмир中文한🙂"]


def _text_bpe(prefix: str = "", suffix: str = "", **options: Any) -> Document:
    vocab = {"<unk>": 0, "<s>": 1, "</s>": 2}
    if options.get("byte_fallback"):
        vocab |= {f"<0x{b:02X}>": 3 + b for b in range(256)}
    for mark in {"": 0, prefix: 0}:
        for letter in _letters(mark):
            vocab.setdefault(letter, len(vocab))
    for letter in _letters() if suffix else ():
        vocab.setdefault(letter + suffix, len(vocab))
    merges: list[list[str]] = []
    for word in WORDS:
        word = word.replace(" ", "▁")
        if not all(c in vocab for c in word) or len(word) < 2:
            continue
        symbols = [word[0], *(prefix + c for c in word[1:])]
        if suffix:
            symbols[-1] += suffix
        while len(symbols) > 1:
            left, right = symbols[:2]
            joined = left + right[len(prefix) :]
            if joined not in vocab:
                vocab[joined] = len(vocab)
                merges.append([left, right])
            symbols = [joined, *symbols[2:]]
    if prefix:
        options["continuing_subword_prefix"] = prefix
    if suffix:
        options["end_of_word_suffix"] = suffix
    return {"type": "BPE", "unk_token": "<unk>", "vocab": vocab, "merges": merges, **options}


def _bpe_on_text() -> dict[str, Document]:
    llama_decoder = {
        "type": "Sequence",
        "decoders": [
            {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
            {"type": "ByteFallback"},
            {"type": "Fuse"},
            {"type": "Strip", "content": " ", "start": 1, "stop": 0},
        ],
    }
    tokens = [added(0, "<unk>", special=True), added(1, "<s>", special=True), added(2, "</s>", normalized=True)]
    fused = {"byte_fallback": True, "fuse_unk": True}
    spaces = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
    gemma = {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False}
    first = {**METASPACE, "prepend_scheme": "first", "split": False}
    bert = {"type": "BertPreTokenizer"}
    return {
        "llama2": document(_text_bpe(**fused), normalizer=LLAMA, decoder=llama_decoder, added_tokens=tokens),
        "gemma": document(
            _text_bpe(**fused), normalizer=spaces, pre_tokenizer=gemma, decoder=llama_decoder, added_tokens=tokens
        ),
        "mistral": document(_text_bpe(**fused), pre_tokenizer=first, decoder=first, added_tokens=tokens),
        "no_fallback": document(_text_bpe(fuse_unk=True), pre_tokenizer=METASPACE, decoder=METASPACE),
        "prefixed": document(
            _text_bpe(prefix="##"), pre_tokenizer=bert, decoder={"type": "BPEDecoder", "suffix": "</w>"}
        ),
        "suffixed": document(
            _text_bpe(suffix="</w>"),
            normalizer={
                "type": "BertNormalizer",
                "clean_text": True,
                "handle_chinese_chars": True,
                "lowercase": True,
                "strip_accents": None,
            },
            pre_tokenizer=bert,
            decoder={"type": "BPEDecoder", "suffix": "</w>"},
        ),
    }


def _unigram() -> dict[str, Document]:
    pieces = [["<unk>", 0.0], ["<s>", 0.0], ["▁", -2.0]]
    pieces += [[letter, -6.0 - i / 7] for i, letter in enumerate(_letters()) if letter != "▁"]
    known = {piece for piece, _ in pieces}
    for i, word in enumerate(WORDS):
        word = word.replace(" ", "▁")
        if word not in known:
            known.add(word)
            pieces.append([word, -3.0 - i / 5])
    in_bytes = pieces + [[f"<0x{b:02X}>", -20.0] for b in range(256)]
    precompiled = {"type": "Precompiled", "precompiled_charsmap": CHARSMAP}
    t5 = {
        "type": "Sequence",
        "normalizers": [precompiled, {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}],
    }
    words = {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, METASPACE]}
    return {
        "t5": document(
            {"type": "Unigram", "unk_id": 0, "vocab": pieces}, normalizer=t5, pre_tokenizer=words, decoder=METASPACE
        ),
        "unigram_bytes": document(
            {"type": "Unigram", "unk_id": 0, "vocab": in_bytes, "byte_fallback": True},
            normalizer={"type": "Sequence", "normalizers": [{"type": "NFKD"}, {"type": "StripAccents"}, precompiled]},
            pre_tokenizer={**METASPACE, "prepend_scheme": "first"},
            decoder={"type": "Sequence", "decoders": [{"type": "ByteFallback"}, METASPACE]},
        ),
    }


def _words() -> dict[str, Document]:
    names = ["[UNK]", "[CLS]", "[SEP]", "the", "of", "hello", "world", "中", "文", "é", "e", "a", "ab", "123", "!", "'"]
    names += ["##" + c for c in ("ing", "s", "a", "b", "c", "1", "2", "é", "ab", "abab", "中")]
    vocab = {name: i for i, name in enumerate(names)}
    piece = {
        "type": "WordPiece",
        "unk_token": "[UNK]",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 100,
        "vocab": vocab,
    }
    bert = {
        "type": "BertNormalizer",
        "clean_text": True,
        "handle_chinese_chars": True,
        "lowercase": True,
        "strip_accents": None,
    }
    processing = {"type": "BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1]}
    tokens = [added(i, names[i], special=True) for i in range(3)]
    return {
        "bert": document(
            piece,
            normalizer=bert,
            pre_tokenizer={"type": "BertPreTokenizer"},
            post_processor=processing,
            decoder={"type": "WordPiece", "prefix": "##", "cleanup": True},
            added_tokens=tokens,
        ),
        "word_level": document(
            {"type": "WordLevel", "unk_token": "[UNK]", "vocab": vocab},
            pre_tokenizer={"type": "Sequence", "pretokenizers": [{"type": "UnicodeScripts"}, {"type": "Whitespace"}]},
            decoder={"type": "CTC", "pad_token": "[CLS]", "word_delimiter_token": "[SEP]", "cleanup": True},
        ),
    }


def components() -> list[Document]:
    """Components of every kind, which the mutator of the compiler's target puts anywhere."""
    regex = (
        {"Regex": r"\s+"},
        {"Regex": "(?<=a)b|x*"},
        {"String": " "},
        {"String": ""},
        {"Regex": r"\p{L}+|[^a]{1,3}"},
    )
    behaviors = ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous")
    normalizers: list[Document] = [
        {"type": t} for t in ("NFC", "NFD", "NFKC", "NFKD", "Nmt", "Lowercase", "StripAccents")
    ]
    normalizers += [
        {"type": "Strip", "strip_left": True, "strip_right": False},
        {"type": "Prepend", "prepend": "▁"},
        {"type": "ByteLevel"},
        {"type": "Precompiled", "precompiled_charsmap": CHARSMAP},
        {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "lowercase": True,
            "strip_accents": None,
        },
        *({"type": "Replace", "pattern": pattern, "content": content} for pattern in regex for content in ("▁", "")),
        LLAMA,
    ]
    pre: list[Document] = [{"type": t} for t in ("BertPreTokenizer", "Whitespace", "WhitespaceSplit", "UnicodeScripts")]
    pre += [
        *(
            {"type": "Split", "pattern": p, "behavior": b, "invert": i}
            for p in regex
            for b in behaviors
            for i in (True, False)
        ),
        *({**METASPACE, "prepend_scheme": s, "split": f} for s in ("always", "first", "never") for f in (True, False)),
        {"type": "Digits", "individual_digits": True},
        {"type": "FixedLength", "length": 3},
        *({"type": "Punctuation", "behavior": b} for b in behaviors),
        {"type": "CharDelimiterSplit", "delimiter": "e"},
        {**BYTE_LEVEL, "add_prefix_space": True, "use_regex": True},
        *(split(pattern) for pattern in patterns().values()),
        {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, METASPACE]},
    ]
    parts = [part for made in documents().values() for part in (made["post_processor"], made["decoder"]) if part]
    parts += [
        {"type": "ByteFallback"},
        {"type": "Fuse"},
        {"type": "Strip", "content": " ", "start": 1, "stop": 1},
        {"type": "WordPiece", "prefix": "##", "cleanup": True},
        {"type": "Sequence", "decoders": []},
        {"type": "CTC", "pad_token": "a", "word_delimiter_token": "b", "cleanup": True},
        added(0, "a", normalized=True),
        added(400, "hello", lstrip=True, rstrip=True),
        added(401, " ", single_word=True),
        {"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 1},
        {
            "type": "WordPiece",
            "unk_token": "a",
            "continuing_subword_prefix": "",
            "max_input_chars_per_word": 9,
            "vocab": {"a": 0},
        },
        {"type": "Unigram", "unk_id": 0, "vocab": [["a", -1.0], ["▁", -2.5]], "byte_fallback": False},
        {"type": "BPE", "dropout": None, "unk_token": None, "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": [["a", "b"]]},
        {"type": "WordLevel", "vocab": {"a": 0, "<unk>": 1}, "unk_token": "<unk>"},
    ]
    unique = {repr(part): part for part in [*normalizers, *pre, *parts]}
    return list(unique.values())
