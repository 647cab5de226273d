"""Any ids, of the vocabulary and beyond it, through every way of decoding them, against the reference."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import tokenizers

import crayon_hf
from crayon_hf import TokenIdError, _core
from crayon_hf.parity.compare.records import Outcome, attempt
from parity.components.command import quiet_panics
from tests.fuzz.edge import vocabularies
from tests.fuzz.edge.choices import Choices
from tests.fuzz.edge.judging import Defect

_ODD = (-1, -(2**31), -(2**63), -(2**70), 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**63, 2**64, 2**70, 10**9)
_MOST = 120


def one_input(data: bytes) -> None:
    choices = Choices(data)
    name, cpu = vocabularies.chosen(choices), choices.pick(_core.cpu_levels())
    ours, reference = vocabularies.ours(name, cpu), vocabularies.reference(name)
    skip = choices.flag()
    ids = _ids(choices, reference.get_vocab_size())
    known = [id for id in ids if 0 <= id < 2**32 and reference.id_to_token(id) is not None]
    with quiet_panics():
        _same(
            f"{name}: decode({known}, {skip})",
            attempt(ours.decode, known, skip),
            attempt(reference.decode, known, skip),
        )
    if known != ids:
        said = attempt(ours.decode, ids, skip, "error")
        if not isinstance(said, Outcome) or TokenIdError.__name__ not in said.error:
            raise Defect(f"{name}: decode({ids}) is {said!r}, not TokenIdError")
    inside = [id for id in ids if 0 <= id < 2**32]
    with quiet_panics():
        _same(
            f"{name}: decode({inside}, {skip})",
            attempt(ours.decode, inside, skip),
            attempt(reference.decode, inside, skip),
        )
        rows = [inside, inside[::2], []]
        _same(
            f"{name}: decode_batch({rows}, {skip})",
            attempt(lambda: ours.decode_batch(rows, skip)),
            attempt(reference.decode_batch, rows, skip),
        )
        _streams(name, ours, reference, inside, skip)
    for id in inside[:8]:
        if ours.id_to_token(id) != reference.id_to_token(id):
            raise Defect(f"{name}: id_to_token({id})")


def _ids(choices: Choices, size: int) -> list[int]:
    ids: list[int] = []
    while choices and len(ids) < _MOST:
        what = choices.byte()
        if what >= 0xF8:
            ids.append(choices.pick(_ODD))
        elif what >= 0xF0:
            ids.append(size + choices.byte() - 4)
        else:
            ids.append(((what & 7) << 8 | choices.byte()) % size if size < 2048 else choices.below(size))
    return ids


def _same(what: str, said: Any, expected: Any) -> None:
    if isinstance(expected, Outcome):
        if expected.error[0] != "PanicException" and not (
            isinstance(said, Outcome) and expected.error[0] in said.error
        ):
            raise Defect(f"{what}: {said!r}, the reference {expected!r}")
    elif said != expected:
        raise Defect(f"{what}: {said!a}, the reference {expected!a}")


def _streams(name: str, ours: crayon_hf.Tokenizer, reference: Any, ids: list[int], skip: bool) -> None:
    """One id after the other, until the reference's stream fails."""
    mine: Any = crayon_hf.DecodeStream(skip_special_tokens=skip)
    theirs: Any = tokenizers.decoders.DecodeStream(skip_special_tokens=skip)
    for at, id in enumerate(ids):
        expected = attempt(theirs.step, reference, id)
        said = attempt(mine.step, ours, id)
        if isinstance(expected, Outcome):
            if not isinstance(said, Outcome):
                raise Defect(f"{name}: step {at} of {ids} is {said!a}, the reference's {expected!r}")
            return
        if said != expected:
            raise Defect(f"{name}: step {at} of {ids} is {said!r}, the reference's {expected!a}")


@cache
def _count() -> int:
    return len(tuple(vocabularies.small()))


def seeds() -> Iterator[bytes]:
    """Each vocabulary; ids of bytes, of words, of added tokens, and odd ones."""
    for at in range(_count()):
        ids = bytes(value for i in range(24) for value in ((at + i) % 3, (i * 37 + at * 11) % 256))
        yield bytes([at, at % 3, at & 1]) + ids + bytes([0xF0, at % 8, 0xF8, at % 12, 0, 0, 1, 4])
