"""The Python edge on every kept input: the seeds of its targets, and what once failed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from crayon_hf.parity.compare.comparison import FastPaths
from crayon_hf.parity.compare.records import DEFAULT
from parity.components.command import AnyIdsSide
from tests.fuzz.edge import drive, judging, mutators, vocabularies
from tests.fuzz.edge.choices import SEPARATOR, Choices, parts_of, text_of
from tests.fuzz.targets import Target, named
from tests.support.versions import since

TARGETS = named(["edge"])
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def _small_vocabularies_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Published ones take seconds to open; `tests/fuzz/run.py` has them."""
    monkeypatch.delenv("CRAYON_SHARED", raising=False)


_SLOW = [pytest.mark.slow]  # pyarrow reads some of them
_AS_ADDED = since((0, 23), "decodes an added token that is normalized as it was added")


@pytest.mark.parametrize(
    "target",
    [
        pytest.param(one, id=one.name, marks=[_AS_ADDED] * (one.name == "encode") + _SLOW * (one.name == "corpora"))
        for one in TARGETS
    ],
)
def test_kept_inputs(target: Target) -> None:
    inputs = target.inputs()
    assert inputs, (
        f"{target.corpus} has no inputs: python -m tests.fuzz.edge.drive {target.name} --seeds {target.corpus}"
    )
    one_input = drive.target(target.name).one_input
    for path in inputs:
        one_input(path.read_bytes())


@pytest.mark.parametrize(
    "target", [pytest.param(one, id=one.name, marks=_SLOW * (one.name == "corpora")) for one in TARGETS]
)
def test_any_bytes_are_a_case(target: Target) -> None:
    one_input = drive.target(target.name).one_input
    for data in (b"", b"\0", b"\xff" * 9, bytes(range(40)), b"{}", b"[" * 200):
        one_input(data)


def test_choices_end_in_first_choices() -> None:
    choices = Choices(b"\x05\x01\x02abc")
    assert (choices.below(3), choices.below(1000), choices.take(2), bool(choices)) == (2, 258, b"ab", True)
    assert (choices.rest(), bool(choices), choices.below(7), choices.pick("xy"), choices.take(3)) == (
        b"c",
        False,
        0,
        "x",
        b"",
    )
    assert text_of(b"a\xed\xa0\x80") == "a\ud800"
    assert text_of(b"a\xff") == "a\ufffd"
    assert parts_of(b"a\xffb\xffc", 2) == [b"a", b"b\xffc"]


def test_a_difference_is_a_defect() -> None:
    one, other = vocabularies.reference("words"), vocabularies.reference("llama2")
    judging.compare(one, one, [("a b",), ("",)], fast=False)
    with pytest.raises(judging.Defect, match="ids"):
        judging.compare(one, other, [("a b",)], fast=False)
    ours, fast = AnyIdsSide(vocabularies.ours("words", "scalar")), FastPaths(vocabularies.ours("llama2", "scalar"))
    with pytest.raises(judging.Defect, match="own encode_ragged"):
        judging.check(ours, AnyIdsSide(one), [("a b",)], DEFAULT, fast)


@pytest.mark.parametrize(
    ("name", "mutate"),
    [
        ("tokenizer_json", mutators.json_document),
        ("read_sentencepiece", mutators.protobuf),
        ("read_gguf", mutators.gguf),
        ("read_ranks", mutators.separated),
    ],
)
def test_mutators(name: str, mutate: Callable[[bytes, Random], bytes | None]) -> None:
    seed = next(drive.target(name).seeds())
    seed = seed.partition(SEPARATOR)[0] if name == "tokenizer_json" else seed
    changed = [mutate(seed, Random(number)) for number in range(60)]
    assert changed == [mutate(seed, Random(number)) for number in range(60)]  # of the number alone
    assert len(set(changed)) > 30
    assert (
        sum(data is not None and mutate(data, Random(0)) is not None for data in changed) > 30
    )  # still of that format
    assert mutate(b"\x07", Random(0)) is None or name == "read_ranks"


@pytest.mark.slow
def test_under_atheris(tmp_path: Path) -> None:
    pytest.importorskip("atheris", reason="atheris is not installed")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in (*sys.path, str(ROOT)) if path)}
    command = [sys.executable, "-P", "-m", "tests.fuzz.edge.drive", "front_matter", "-runs=100", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "Done 100 runs" in done.stderr
