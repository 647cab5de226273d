"""Limits of the sizes of vocabularies: at a limit everything works, beyond it an error names the limit.

Tests that take gigabytes are in tests/huge. docs/reliability.md has the list.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import tokenizers

from crayon_hf import _core
from crayon_hf.errors import UnsupportedError
from crayon_hf.util.byte_level import BYTE_LEVEL
from tests.support import reference_impl

IDS_END = 2_097_150
MOST_MERGES = 4_194_302
BYTE_TOKENS = {chr(character): byte for byte, character in BYTE_LEVEL.items()}


def byte_level(vocab: dict[str, int], merges: str = "[]") -> str:
    """A byte-level tokenizer.json with these tokens and merges. `merges` is the JSON of the list."""
    return json.dumps(
        {
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
            "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
            "model": {"type": "BPE", "vocab": vocab, "merges": []},
        }
    ).replace('"merges": []', f'"merges": {merges}')


@pytest.mark.slow
def test_the_greatest_id() -> None:
    """A vocabulary reaches the greatest possible id with about a million tokens, every second id unused."""

    def source(last: int) -> bytes:
        vocab = ",".join(f'"t{i}":{2 * i}' for i in range(IDS_END // 2))
        model = f'{{"type":"WordLevel","vocab":{{{vocab},"last":{last}}},"unk_token":"t0"}}'
        return f'{{"version":"1.0","pre_tokenizer":{{"type":"WhitespaceSplit"}},"model":{model}}}'.encode()

    engine = _core.Engine.from_bytes(_core.compile_tokenizer_json(source(IDS_END)))
    assert engine.encode_ids("t0 last t5 none") == [0, IDS_END, 10, 0]
    assert engine.decode([0, IDS_END]) == "t0 last"
    assert engine.encode_ragged(["last"])[0].tolist() == [IDS_END]
    with pytest.raises(UnsupportedError, match="2097151: ids end at 2097150"):
        _core.compile_tokenizer_json(source(IDS_END + 1))


def test_the_greatest_id_of_an_added_token() -> None:
    engine = reference_impl.open_engine(byte_level(BYTE_TOKENS))
    token = {"content": "<new>", "special": True}
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    changed = engine.with_components(engine.components, [{"id": IDS_END, **token, **flags}])
    assert changed.encode_ids("<new>") == [IDS_END]
    with pytest.raises(UnsupportedError, match=r'"<new>\\?" is too large: ids end at 2097150'):
        engine.with_components(engine.components, [{"id": IDS_END + 1, **token, **flags}])


def test_the_most_merges() -> None:
    merges = ",".join(['"a b"'] * (MOST_MERGES + 1))
    with pytest.raises(UnsupportedError, match="more than 4194302 merges"):
        _core.compile_tokenizer_json(byte_level(BYTE_TOKENS | {"ab": 256}, f"[{merges}]").encode())


def test_merges_that_were_made_to_collide() -> None:
    """A search in the table of merges passes at most 1023 full slots (cartridge_tables.h)."""
    longest, slots = 1024, 2048  # slots of the table, at most 60% full

    def home(pair: tuple[int, int]) -> int:
        return ((pair[0] << 21 | pair[1]) * 0x9E3779B97F4A7C15 % 2**64) >> 64 - slots.bit_length() + 1

    spelled = {byte: character for character, byte in BYTE_TOKENS.items()}
    pairs = sorted(((left, right) for left in range(256) for right in range(256)), key=home)
    (*block, last), first = pairs[1 : longest + 2], pairs[0]
    assert all(home(pair) <= place for place, pair in enumerate(block)), "they fill the table from its first place on"
    assert home(first) == 0
    for found_last, is_native in ((block[:-1], True), (block, False)):
        merges = [(spelled[left], spelled[right]) for left, right in (*found_last, first)]
        vocab = BYTE_TOKENS | {left + right: 256 + rank for rank, (left, right) in enumerate(merges)}
        source = byte_level(vocab, json.dumps(merges))
        if not is_native:
            with pytest.raises(UnsupportedError, match="collide"):
                reference_impl.compiled(source)
            continue
        engine, reference = reference_impl.open_engine(source), tokenizers.Tokenizer.from_str(source)
        text = " ".join(chr(byte) for byte in (*first, *last, *range(97, 123)))
        assert engine.encode_ids(text) == reference.encode(text).ids


def test_a_long_token() -> None:
    """A single token has no limit of its own; all tokens together may have 4 GiB. Here merges make a token of 64
    KiB."""
    runs = ["a" * 2**k for k in range(17)]
    vocab = BYTE_TOKENS | {run: 255 + k for k, run in enumerate(runs) if k > 0}
    source = byte_level(vocab, json.dumps([[run, run] for run in runs[:-1]]))
    text = "b" + (3 * 2**16 + 77) * "a"
    ids = reference_impl.open_engine(source).encode_ids(text)
    assert ids == tokenizers.Tokenizer.from_str(source).encode(text).ids


def test_the_most_metadata() -> None:
    """The compiler refuses metadata that could not be opened."""
    source = byte_level(BYTE_TOKENS).encode()
    for size, is_native in ((1 << 20, True), ((1 << 20) + 1, False)):
        metadata = json.dumps({"name": "x" * (size - len('{"name": ""}'))})
        assert len(metadata) == size
        if is_native:
            assert _core.Engine.from_bytes(_core.compile_tokenizer_json(source, metadata)).metadata == metadata
        else:
            with pytest.raises(UnsupportedError, match="metadata of more than 1048576 bytes"):
                _core.compile_tokenizer_json(source, metadata)


PART, OTHER = ({"Sequence": {"id": name, "type_id": 0}} for name in "AB")
STEP = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False, "use_regex": True}


def template(single: list[Any], count: int) -> dict[str, Any]:
    special = {"s": {"id": "s", "ids": [1] * count, "tokens": ["s"] * count}}
    return {"type": "TemplateProcessing", "single": single, "pair": [PART, OTHER], "special_tokens": special}


PROCESSORS: dict[str, tuple[int, Callable[[int], dict[str, Any]]]] = {
    "64 steps": (64, lambda count: {"type": "Sequence", "processors": [STEP] * count}),
    "65536 special ids": (65_536, lambda count: template([{"SpecialToken": {"id": "s", "type_id": 0}}, PART], count)),
    "64 sequences": (64, lambda count: template([PART] * count, 1)),
}


@pytest.mark.parametrize("most", PROCESSORS)
def test_the_most_of_a_post_processor(most: str) -> None:
    limit, processor = PROCESSORS[most]
    source = json.loads(byte_level(BYTE_TOKENS))
    text = json.dumps(source | {"post_processor": processor(limit)})
    assert reference_impl.open_engine(text).encode_ids("ab") == tokenizers.Tokenizer.from_str(text).encode("ab").ids
    with pytest.raises(UnsupportedError, match=most):
        reference_impl.compiled(source | {"post_processor": processor(limit + 1)})
