"""The suite that compares every component and option of a tokenizer.json with ``tokenizers``; it finds planted
faults."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from parity.components import __main__ as command
from parity.components.__main__ import Failure, check, open_ours, open_reference, smallest
from parity.components.cases import random_case, single_cases
from tests.support.sampling import sampled
from tests.support.versions import IS_BESIDE_1, REFERENCE

CASES = {case.name: case for case in single_cases()}
SEEDS = 15


@pytest.fixture(scope="module", autouse=True)
def _short_panics() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RUST_BACKTRACE", "0")  # the reference panics often here, and backtraces are slow
        yield


def report(failures: list[Failure]) -> str:
    return "\n".join(line for failure in failures for line in smallest(failure, open_ours).lines())


# -- ours


@pytest.mark.parametrize("name", sampled(CASES, 4))
def test_one_component(name: str) -> None:
    if REFERENCE < (0, 23) and re.fullmatch(r"added\(.*normalized.*\), lowercase", name):
        pytest.skip("tokenizers before 0.23 finds these added tokens otherwise in normalized text")
    if IS_BESIDE_1 and name.startswith("model/bpe-words, suffix, byte_fallback"):
        pytest.skip("tokenizers 1.0 has no class for what is not native: a suffix with byte_fallback")
    failures = check(CASES[name], open_ours, strings=4, variants=1, seed=zlib.crc32(name.encode()) % 10_000)
    assert not failures, report(failures)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, SEEDS + 1))
def test_components_combined(seed: int) -> None:
    failures = check(random_case(seed), open_ours, strings=12, variants=2, seed=seed)
    assert not failures, report(failures)


# -- the harness


def changed(change: Callable[[dict[str, Any]], Any]) -> Callable[[str], Any]:
    def open_changed(text: str) -> Any:
        document = json.loads(text)
        change(document)
        return open_reference(json.dumps(document))

    return open_changed


def drop_lowercase(document: dict[str, Any]) -> None:
    nothing = '{"type": "Sequence", "normalizers": []}'
    document["normalizer"] = json.loads(json.dumps(document["normalizer"]).replace('{"type": "Lowercase"}', nothing))


@pytest.mark.slow
def test_the_command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setattr(command, "open_ours", open_reference)
    assert command.main(["--only", "model/word", "--seeds", "2", "--strings", "2"]) == 0
    assert capsys.readouterr().out == "16 tokenizers: all agree\n"
    monkeypatch.setattr(command, "open_ours", changed(drop_lowercase))
    saved = tmp_path / "failures"
    assert command.main(["--only", "normalizer/Lowercase()", "--save", str(saved)]) == 1
    printed = capsys.readouterr().out
    assert "normalizer/Lowercase(): differs" in printed
    assert printed.splitlines()[-1] == "2 tokenizers: 2 do not agree"
    assert json.loads((saved / "failure-1.json").read_text("utf-8"))["normalizer"] == {"type": "Lowercase"}
