"""Any bytes as CRAYON's cartridge, and any as the strings beside it: an error that is promised, or longest match."""

from __future__ import annotations

from collections.abc import Iterator

from crayon_hf import _core
from crayon_hf.formats.crayon_v2 import read_companion
from crayon_hf.formats.crayon_v2 import read_crayon_v2 as read
from tests.fuzz.edge import mutators
from tests.fuzz.edge.choices import SEPARATOR
from tests.fuzz.edge.judging import converted, dumped, judge_document

TOKENS = (b"a", b"b", b"ab", b"abc", b"\xc3\xa9", b"hello", b"he", b" w", b"\x00x")


def one_input(data: bytes) -> None:
    beside, has_companion, cartridge = data.partition(SEPARATOR)
    if not has_companion:
        cartridge = beside
    tokens = converted(read_companion, beside) if has_companion and beside else None
    result = converted(read, cartridge, tokens)
    if result is not None:
        judge_document(result.tokenizer_json)


def mutate(data: bytes, rng: mutators.Random) -> bytes | None:  # type: ignore[name-defined]
    """The companion as JSON; the cartridge by libFuzzer."""
    beside, separator, cartridge = data.partition(SEPARATOR)
    changed = mutators.json_document(beside, rng) if beside else None
    return None if changed is None else changed + separator + cartridge


def seeds() -> Iterator[bytes]:
    """With both kinds of companion, and with none."""
    keys = sorted((token, id) for id, token in enumerate(TOKENS))
    cartridge = _core.write_cartridge_v2(*_core.build_double_array(keys))
    strings = [token.decode() for token in TOKENS]
    yield SEPARATOR + cartridge
    yield dumped(strings) + SEPARATOR + cartridge
    yield dumped({"vocab": {string: id for id, string in enumerate(strings)}}) + SEPARATOR + cartridge
