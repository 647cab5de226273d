"""Writes the seeds of the engine's targets, which are kept in ``corpus/engine``: ``python -m tests.fuzz.seeds``.

Needs an installed crayon_hf, for cartridges. The seeds are a function of this file and of the compiler; what a longer
run adds to them (``run.py`` keeps that outside the tree) is not put here.
"""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
import struct
from collections.abc import Iterator
from typing import Any

from tests.fuzz import vocabularies
from tests.fuzz.targets import TARGETS

TEXTS = (
    "",
    "hello  the world's 123 2024\r\n\n  Yes, isn't I'LL s'o! /HTMLHtml/ ==...",
    "é e\u0301 ñ мир 中文 한 🙂👩\u200d👩 \u00a0\u2003\uff46①ﬁ\tx",
    "crayon crayons <s> [L]  [L] <mask>  [X] é! <unk></s> ▁the▁ of",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa abababababababab " + " " * 40 + "0" * 30,
)
NOT_UTF_8 = b"the \xff\xc3 \xe4\xb8 \xf0\x9f\x98 \xed\xa0\x80 world\x80"
LINES = (
    b'{"text": "a\\u00e9 \\ud83d\\ude42\\n", "n": [1, -2.5e3, null, {"x": true}]}\n\n'
    b'{"text":"b","a\\"\\\\\xc3\xa9":"c"}\n{"text": 1}\nNaN'
)


def tiny() -> Iterator[dict[str, Any]]:
    """Documents whose cartridges have a few KB."""
    words = {"type": "WordLevel", "unk_token": "a", "vocab": {"a": 0, "b": 1}}
    yield vocabularies.document(words, added_tokens=[vocabularies.added(2, "<s>", special=True)])
    merging = {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": [["a", "b"]], "unk_token": "b"}
    yield vocabularies.document(merging, pre_tokenizer=vocabularies.METASPACE)
    yield vocabularies.document({"type": "Unigram", "unk_id": 0, "vocab": [["a", -1.0], ["ab", -2.5]]})
    piece = {"type": "WordPiece", "unk_token": "a", "continuing_subword_prefix": "##", "max_input_chars_per_word": 9}
    yield vocabularies.document(
        {**piece, "vocab": {"a": 0, "##b": 1}}, decoder={"type": "WordPiece", "prefix": "##", "cleanup": True}
    )


def cartridge() -> Iterator[bytes]:
    from crayon_hf import _core

    for document in tiny():
        yield b"\x01" + _core.compile_tokenizer_json(json.dumps(document).encode())
    yield b"\x00CRAY" + struct.pack("<IQ", 3, 64)


def cartridge_v2() -> Iterator[bytes]:
    yield b"CRAY" + struct.pack("<II", 2, 1) + struct.pack("<3i", 1, -1, -1)
    base, check, values = [1] + [0] * 99, [-1] * 100, [-1] * 100
    base[98], check[98], values[98] = 1, 0, 0  # "a" = 1 + 97
    check[99], values[99] = 98, 1  # then "b" = 1 + 98
    yield b"CRAY" + struct.pack("<II", 2, 100) + struct.pack("<300i", *base, *check, *values)


def lies() -> Iterator[bytes]:
    names = list(vocabularies.documents())
    for i, name in enumerate(names):
        yield bytes([i, i & 3, 0, 5, 9]) + f"hello {name}".encode()
    for part in range(0, 24):
        how = (0x62, 0x9A, 0xC2, 0x3A)[part % 4]
        yield bytes([(part * 5) % len(names), 0, 1, part, how, part, 77, 1, 2, 0, 5, 9]) + b" the a"


def compiler() -> Iterator[bytes]:
    for document in tiny():
        yield json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
    for name in ("bert", "word_level", "t5", "no_fallback", "suffixed", "qwen2", "added", "longest"):
        text = json.dumps(vocabularies.documents()[name], ensure_ascii=False, separators=(",", ":"))
        yield text.encode() + (b"\n" if name == "qwen2" else b"")


def encode() -> Iterator[bytes]:
    count = len(vocabularies.documents())
    for i in range(count):
        for k, text in enumerate(TEXTS[1:]):
            if (i + k) % 3 == 0:
                yield bytes([i, 5 + k, 16 * k + 3]) + text.encode()
        # A stream with the least windows, which tries every seam.
        yield bytes([i, 4 + (i & 1), i & 1]) + TEXTS[1].encode()
        # From 192 on an input means greedy mode.
        yield bytes([next(b for b in range(192, 256) if b % count == i), 5, 7]) + TEXTS[1 + i % 4].encode()
        if i % 3 == 0:
            yield bytes([i, 4, 2]) + NOT_UTF_8


def decode() -> Iterator[bytes]:
    for i in range(len(vocabularies.documents())):
        ids = bytes([0x80, 30, 1, 2, 3, 0x81, 5, 70, 71, 0x80, 200, 0x81, 60, 0x82, 10, 10])
        yield bytes([i, i & 15]) + ids
        yield bytes([i, 2]) + bytes(range(3, 90, 5)) + b"\xff\xff\xff\xff\x7f\xfe\xfe"


def columns() -> Iterator[bytes]:
    yield b"\x00\x01" + LINES
    yield b"\x00\x00" + LINES * 2
    for text in TEXTS:
        yield b"\x01\x02\x05" + text.encode()
        yield b"\x03\x02\x03\x00\x09\x04\x10\x05\x05\x01\x00\x00\x00\x01" + text.encode()
    yield b"\x01\x01\x21" + NOT_UTF_8
    yield b"\x02\x02\n\nab\n\n\n\ncd\n"
    yield b"\x02\x01\nab\ncd"


def kernels() -> Iterator[bytes]:
    long_runs = bytes(range(40)) + bytes([14, 0xF9, 16, 0xFB, 19, 0xFA, 11, 0xFC, 2, 0, 0xFD])
    for i in range(16):
        cuts = bytes([4 + i, *range(i, 20, 5), *range(i % 3, 12, 3)])[: 5 + i]
        head = bytes([i, 0x14 + (i & 3), (0, 9, 7, 60, 90)[i % 5], len(cuts)]) + cuts
        yield head + long_runs
        yield bytes([i, 4 + (i & 3), 0, 2, 3, 9]) + TEXTS[1 + i % 4].encode()
    yield bytes([2, 0, 9, 3, 2, 0, 15]) + NOT_UTF_8
    yield bytes([4, 0x10, 0, 0]) + long_runs
    yield bytes([0, 0xF0, 0, 0, 0, 6, 14, 16])


def parsers() -> Iterator[bytes]:
    yield b'\x00{"a":[1,-2.5e3,null,true,"\\u00e9\\n",{}],"b":18446744073709551615,"":1e-300}'
    arrays = {name: [1, 2] for name in ("ids", "type_ids", "words", "special_tokens_mask", "attention_mask")}
    encoding = {
        **arrays,
        "tokens": ["a", "b"],
        "offsets": [[0, 1], [1, 2]],
        "overflowing": [],
        "sequence_ranges": {"0": {"start": 0, "end": 2}},
    }
    yield b"\x01" + json.dumps(encoding).encode()
    odd = (
        r"(?i:'s|k|ß)+?|\b\w*+\B",
        r"(?<=a)(?!b)[^\p{L}&&[a-z]]{2,3}|\h|\R",
        r"(a|ab)(?:c|bcd)(d*)",
        r"^\s*$|\A.\z|\x{1F642}",
    )
    for pattern in (*vocabularies.patterns().values(), *odd):
        yield b"\x02" + pattern.encode() + b"\0" + TEXTS[1].encode()
    yield b"\x03ab\0" + TEXTS[4][:80].encode()
    yield b"\x04\x14" + TEXTS[2][:10].encode().ljust(20) + base64.b64decode(vocabularies.CHARSMAP)
    for i in range(0, len(vocabularies.components()), 3):
        yield bytes([5, i]) + TEXTS[1 + i % 3].encode()
    yield b"\x06a\0ab\0abc\0b\0\xff\0abcd"
    yield b"\x07th\0the\0 the\0in\0ing\0aa\0aaaa"


def words() -> Iterator[bytes]:
    for i in range(len(vocabularies.documents())):
        yield bytes([i, 17 * i & 255, 200, 40, 5]) + "\0".join(TEXTS[1:4]).encode()[: 120 + i] + b"\nthe of the\n"


def main() -> None:
    makers = globals()
    for target in TARGETS:
        if target.kind != "engine":
            continue
        shutil.rmtree(target.corpus, ignore_errors=True)
        target.corpus.mkdir(parents=True)
        for seed in makers[target.name]():
            (target.corpus / hashlib.sha1(seed).hexdigest()[:16]).write_bytes(seed)


if __name__ == "__main__":
    main()
