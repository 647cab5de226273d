"""A certificate (the result of a parity report, in a cartridge) is written only for full agreement and only into the
compared cartridge, and never half."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from crayon_hf import CartridgeError, Tokenizer, _core
from crayon_hf.cartridges.compiling import compile_json
from crayon_hf.certificate import CertificateError, certify, of_report, read
from crayon_hf.cli import main
from crayon_hf.parity.report.model import Library, Report, Target
from tests.hub.hub_tokenizers import pattern_of_tiktoken, resigned, without_a_merge
from tests.parity.report_samples import agreeing


@pytest.fixture
def cartridge(gpt2_like: Path, tmp_path: Path) -> Path:
    Tokenizer.from_file(gpt2_like).save(str(tmp_path / "own.dat"))
    return tmp_path / "own.dat"


@pytest.fixture
def report(cartridge: Path) -> Report:
    digest = _core.Engine.open(str(cartridge)).source_digest
    target, library = Target("own", "a cartridge", digest, 2000), Library("tokenizers", "0.23.3")
    return replace(agreeing(), target=target, reference=library, suites=agreeing().suites[:2])


def test_it_is_written_and_read(cartridge: Path, report: Report) -> None:
    before, ids = cartridge.read_bytes(), Tokenizer.from_file(cartridge).encode("Hello, world!").ids
    assert read(cartridge) is None
    certify(cartridge, report)
    found = read(cartridge)
    assert found is not None
    assert (found.inputs, found.compared, found.target) == (report.inputs, report.compared, "own")
    assert found.summary() == (
        f"agreed with tokenizers 0.23.3 on {report.inputs:,} inputs, {report.characters:,} characters, {report.started}"
    )
    assert read(_core.Engine.open(str(cartridge))) == found
    assert Tokenizer.from_file(cartridge).encode("Hello, world!").ids == ids
    assert _core.with_certificate(cartridge.read_bytes(), None) == before
    certify(cartridge, replace(report, command="another"))
    again = read(cartridge)
    assert again is not None
    assert again.command == "another"


def suite_with(report: Report, **change: Any) -> Report:
    return replace(report, suites=(report.suites[0], replace(report.suites[1], **change)))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda report: suite_with(report, differing=1), "1 of [0-9,]+ inputs differ"),
        (lambda report: suite_with(report, failure="crashed"), "needs full agreement"),
        (lambda report: suite_with(report, inputs=0), "needs full agreement"),
        (lambda report: replace(report, suites=()), "needs full agreement"),
        (lambda report: replace(report, ours=Library("crayon-hf", "1", "delegated")), "it is not native"),
        (lambda report: replace(report, ours=Library("crayon-hf", "1")), "it is not native"),
        (lambda report: replace(report, target=replace(report.target, source_digest="")), "does not say"),
        (
            lambda report: replace(report, target=replace(report.target, source_digest="0" * 64)),
            "another tokenizer.json",
        ),
    ],
    ids=["differs", "failed", "nothing", "no-suites", "delegated", "unknown-engine", "no-digest", "other-digest"],
)
def test_what_is_not_certified(cartridge: Path, report: Report, change: Any, says: str) -> None:
    before = cartridge.read_bytes()
    with pytest.raises(CertificateError, match=says):
        certify(cartridge, change(report))
    assert cartridge.read_bytes() == before


@pytest.mark.parametrize("case", ["a lie", "another source", "no source", "damaged"])
def test_what_else_is_not_certified(
    cartridge: Path, report: Report, gpt2_like: Path, qwen_like: Path, case: str
) -> None:
    error: type[Exception] = CertificateError
    if case == "a lie":
        source, says = gpt2_like.read_bytes(), "is not the cartridge of"
        cartridge.write_bytes(resigned(compile_json(without_a_merge(source)), source))
        assert _core.Engine.open(str(cartridge), verify=True).source_digest == report.target.source_digest
    elif case == "another source":
        cartridge.with_suffix(".json").write_bytes(qwen_like.read_bytes())
        says = r"another tokenizer\.json"
    elif case == "no source":
        cartridge.with_suffix(".json").unlink()
        says = "cannot be read"
    else:
        data = bytearray(cartridge.read_bytes())
        data[len(data) // 2] ^= 1
        cartridge.write_bytes(data)
        error, says = CartridgeError, "own"
    before = cartridge.read_bytes()
    with pytest.raises(error, match=says):
        certify(cartridge, report)
    assert cartridge.read_bytes() == before


def test_whose_regular_expressions_count(tmp_path: Path, report: Report, gpt2_like: Path) -> None:
    """A cartridge that reads a pattern as tiktoken does is certified only for tiktoken, and vice versa."""
    source, of_tiktoken = gpt2_like.read_bytes(), Library("tiktoken", "0.12")
    path = tmp_path / "tokenizer.dat"
    for files, right, wrong in (
        (pattern_of_tiktoken(source), of_tiktoken, report.reference),
        ({"tokenizer.json": source, "tokenizer.dat": compile_json(source)}, report.reference, of_tiktoken),
    ):
        for name, data in files.items():
            (tmp_path / name).write_bytes(data)
        target = replace(report.target, source_digest=_core.Engine.open(str(path)).source_digest)
        with pytest.raises(CertificateError, match="regular expressions of tiktoken"):
            certify(path, replace(report, target=target, reference=wrong))
        certify(path, replace(report, target=target, reference=right))
        assert read(path).reference["name"] == right.name  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"schema": "another"}, "not of schema"),
        ({"source_digest": "0" * 64}, "for another tokenizer.json"),
        ({"inputs": "many"}, "inputs is str"),
        ({"inputs": True}, "inputs is bool"),
        ({"suites": {}}, "suites is dict"),
        ({"command": None}, "command is NoneType"),
        ({"started": ...}, "lacks started"),
    ],
    ids=["schema", "digest", "inputs", "bool", "suites", "command", "missing"],
)
def test_what_is_not_trusted(cartridge: Path, report: Report, capfd: Any, change: dict[str, Any], says: str) -> None:
    text = json.dumps({key: value for key, value in {**of_report(report), **change}.items() if value is not ...})
    cartridge.write_bytes(_core.with_certificate(cartridge.read_bytes(), text))
    with pytest.raises(CertificateError, match=says):
        read(cartridge)
    assert main(["info", "-t", str(cartridge)]) == 0
    assert "not to be trusted: " in capfd.readouterr().out
