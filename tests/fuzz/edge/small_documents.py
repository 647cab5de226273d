"""Small ``tokenizer.json`` documents: one of each model, with the components that it usually has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Document = dict[str, Any]


def byte_level_alphabet() -> list[str]:
    """The 256 characters that stand for bytes, in the order of the bytes."""
    from crayon_hf.util.byte_level import spell

    return [spell(bytes([byte])) for byte in range(256)]


def document(model: Document, **sections: Any) -> Document:
    """A document of a model and what else is said."""
    empty: Document = dict.fromkeys(
        ("truncation", "padding", "normalizer", "pre_tokenizer", "post_processor", "decoder")
    )
    return {"version": "1.0", "added_tokens": [], **empty, **sections, "model": model}


def added(content: str, id: int, **flags: bool) -> Document:
    """An added token."""
    plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {"id": id, "content": content, **plain, **flags}


def ids_of(tokens: list[str]) -> dict[str, int]:
    """Tokens by their places."""
    return {token: id for id, token in enumerate(tokens)}


def small_documents() -> Iterator[Document]:
    """Each kind of model."""
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    letters = ["a", "b", "c", "h", "e", "l", "o", "\u0120", "\u00c3", "\u00a9"]
    merges = [["h", "e"], ["l", "l"], ["ll", "o"], ["he", "llo"], ["\u0120", "a"], ["\u00c3", "\u00a9"]]
    tokens = [*letters, *("".join(pair) for pair in merges)]
    yield document(
        {"type": "BPE", "vocab": ids_of(tokens), "merges": merges, "ignore_merges": True, "byte_fallback": False},
        pre_tokenizer=byte_level,
        decoder=byte_level,
        added_tokens=[added("<s>", len(tokens)), added("hello", len(tokens) + 1, normalized=True, single_word=True)],
        post_processor={
            "type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {"<s>": {"id": "<s>", "ids": [len(tokens)], "tokens": ["<s>"]}},
        },
    )
    pattern = r"(?i:'s|'t)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
    split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    alphabet = byte_level_alphabet()
    whole = [*alphabet, *("".join(pair) for pair in merges)]
    yield document(
        {"type": "BPE", "vocab": ids_of(whole), "merges": merges},
        normalizer={"type": "NFC"},
        pre_tokenizer={"type": "Sequence", "pretokenizers": [split, {**byte_level, "use_regex": False}]},
        decoder=byte_level,
    )
    spaced = ["<unk>", "<s>", "\u2581", "h", "e", "l", "o", "\u00e9", "he", "ll", "llo", "hello", "\u2581h"]
    spaced += [f"<0x{byte:02X}>" for byte in (0x0A, 0xC3, 0xA9, 0xE4, 0xBD, 0xA0)]
    yield document(
        {
            "type": "BPE",
            "vocab": ids_of(spaced),
            "merges": ["h e", "l l", "ll o", "he llo", "\u2581 h"],
            "unk_token": "<unk>",
            "fuse_unk": True,
            "byte_fallback": True,
        },
        normalizer={
            "type": "Sequence",
            "normalizers": [
                {"type": "Prepend", "prepend": "\u2581"},
                {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"},
            ],
        },
        decoder={
            "type": "Sequence",
            "decoders": [
                {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "},
                {"type": "ByteFallback"},
                {"type": "Fuse"},
                {"type": "Strip", "content": " ", "start": 1, "stop": 0},
            ],
        },
        added_tokens=[added("<unk>", 0), added("<s>", 1)],
    )
    metaspace = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first", "split": True}
    scores = [
        ["<unk>", 0.0],
        ["\u2581", -2.0],
        ["\u2581he", -3.5],
        ["l", -4.0],
        ["lo", -3.0],
        ["o", -4.5],
        ["\u00e9", -6.0],
    ]
    yield document(
        {"type": "Unigram", "unk_id": 0, "vocab": scores, "byte_fallback": False},
        normalizer={"type": "Sequence", "normalizers": [{"type": "NFKC"}, {"type": "Lowercase"}]},
        pre_tokenizer=metaspace,
        decoder=metaspace,
        truncation={"direction": "Right", "max_length": 6, "strategy": "LongestFirst", "stride": 1},
    )
    words = ["[UNK]", "[CLS]", "[SEP]", "he", "##l", "##lo", "a", "##b", "\u4f60", "!", "1", "##2"]
    yield document(
        {"type": "WordPiece", "vocab": ids_of(words), "unk_token": "[UNK]", "continuing_subword_prefix": "##"}
        | {"max_input_chars_per_word": 100},
        normalizer={
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": None,
            "lowercase": True,
        },
        pre_tokenizer={"type": "BertPreTokenizer"},
        post_processor={"type": "BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1]},
        decoder={"type": "WordPiece", "prefix": "##", "cleanup": True},
        padding={
            "strategy": {"Fixed": 8},
            "direction": "Right",
            "pad_to_multiple_of": None,
            "pad_id": 0,
            "pad_type_id": 0,
            "pad_token": "[PAD]",
        },
    )
    yield document(
        {"type": "WordLevel", "vocab": ids_of(["<unk>", "he", "llo", "a", "!", "\u4f60"]), "unk_token": "<unk>"},
        pre_tokenizer={
            "type": "Sequence",
            "pretokenizers": [{"type": "Whitespace"}, {"type": "Digits", "individual_digits": True}],
        },
    )
