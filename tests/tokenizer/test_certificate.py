"""Certificates: only of full agreement, only into the cartridge that was compared, and never half of one."""

from __future__ import annotations

import base64
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from crayon_hf import CartridgeError, Tokenizer, _core, certificate
from crayon_hf.cartridges.source_json import compile_json
from crayon_hf.certificate import SCHEMA, CertificateError, certify, of_report, read
from crayon_hf.cli import main
from crayon_hf.formats.tiktoken import R50K_PATTERN
from crayon_hf.parity.report.model import Category, Library, Report, SuiteResult, Target
from tests.hub.hub_tokenizers import pattern_of_tiktoken, resigned, without_a_merge


@pytest.fixture
def cartridge(gpt2_like: Path, tmp_path: Path) -> Path:
    Tokenizer.from_file(gpt2_like).save(str(tmp_path / "own.dat"))
    return tmp_path / "own.dat"


@pytest.fixture
def report(cartridge: Path) -> Report:
    digest = _core.Engine.open(str(cartridge)).source_digest
    suite = SuiteResult("strings", "generated", "made", 4, 0, 40, 0.5, (Category("tiny", 4, 0),), seed=3)
    text = SuiteResult("own", "file", "a file", 2, 0, 90, 0.5, (Category("own", 2, 0),), digest="cd" * 32)
    return Report(
        Target("own", "a cartridge", digest, 2000),
        Library("crayon-hf", "0.1", "native, avx2"),
        Library("tokenizers", "0.23.3"),
        ("ids", "offsets"),
        (suite, text),
        (),
        (),
        ("a processor",),
        {"tokenizers": "0.23.3"},
        "crayon-hf parity own.dat --text 'a b.txt'",
        "2026-01-02T03:04:05Z",
        1.5,
    )


def test_what_it_says(report: Report) -> None:
    made = of_report(report)
    assert made["schema"] == SCHEMA
    assert made["reference"] == {"name": "tokenizers", "version": "0.23.3"}
    assert made["ours"] == {"version": "0.1", "details": "native, avx2"}
    assert (made["inputs"], made["characters"]) == (6, 130)
    assert made["suites"][0] == {
        "name": "strings",
        "kind": "generated",
        "inputs": 4,
        "characters": 40,
        "seed": 3,
        "digest": None,
    }
    assert made["suites"][1]["digest"] == "cd" * 32
    assert made["command"] == report.command
    assert set(made) == {
        *("schema", "source_digest", "target", "reference", "ours", "inputs", "characters"),
        *("compared", "suites", "machine", "command", "started"),
    }


def test_it_is_written_and_read(cartridge: Path, report: Report) -> None:
    before, ids = cartridge.read_bytes(), Tokenizer.from_file(cartridge).encode("Hello, world!").ids
    assert read(cartridge) is None
    certify(cartridge, report)
    found = read(cartridge)
    assert found is not None
    assert (found.inputs, found.compared, found.target) == (6, ("ids", "offsets"), "own")
    assert found.summary() == "agreed with tokenizers 0.23.3 on 6 inputs, 130 characters, 2026-01-02T03:04:05Z"
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
        (lambda report: suite_with(report, differing=1), "1 of 6 inputs differ"),
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


def test_a_lie_is_not_certified(cartridge: Path, report: Report, gpt2_like: Path) -> None:
    source = gpt2_like.read_bytes()
    lie = resigned(compile_json(without_a_merge(source)), source)
    cartridge.write_bytes(lie)
    assert _core.Engine.open(str(cartridge), verify=True).source_digest == report.target.source_digest
    with pytest.raises(
        CertificateError, match=r"own.dat is not the cartridge of .*own.json: .*; run crayon-hf convert"
    ):
        certify(cartridge, report)
    assert cartridge.read_bytes() == lie


def test_without_its_source_nothing_is_certified(cartridge: Path, report: Report, qwen_like: Path) -> None:
    before = cartridge.read_bytes()
    cartridge.with_suffix(".json").write_bytes(qwen_like.read_bytes())
    with pytest.raises(CertificateError, match=r"compiled from another tokenizer\.json"):
        certify(cartridge, report)
    cartridge.with_suffix(".json").unlink()
    with pytest.raises(CertificateError, match=r"own\.json, which it was compiled from, cannot be read"):
        certify(cartridge, report)
    assert cartridge.read_bytes() == before


def test_whose_regular_expressions_count(tmp_path: Path, report: Report, gpt2_like: Path) -> None:
    """A cartridge that reads a pattern as tiktoken does is certified for tiktoken alone, and the other way round."""
    of_tiktoken = pattern_of_tiktoken(gpt2_like.read_bytes())
    path = tmp_path / "tokenizer.dat"
    for name, data in of_tiktoken.items():
        (tmp_path / name).write_bytes(data)
    digest = _core.Engine.open(str(path)).source_digest
    report = replace(report, target=replace(report.target, source_digest=digest))
    with pytest.raises(CertificateError, match="it follows the regular expressions of tiktoken"):
        certify(path, report)
    certify(path, replace(report, reference=Library("tiktoken", "0.12")))
    found = read(path)
    assert found is not None
    assert found.reference["name"] == "tiktoken"

    source = gpt2_like.read_bytes()
    (tmp_path / "tokenizer.json").write_bytes(source)
    path.write_bytes(compile_json(source))
    digest = _core.Engine.open(str(path)).source_digest
    report = replace(report, target=replace(report.target, source_digest=digest))
    with pytest.raises(CertificateError, match="does not follow the regular expressions of tiktoken"):
        certify(path, replace(report, reference=Library("tiktoken", "0.12")))
    certify(path, report)


def test_a_cartridge_of_ranks_is_certified(tmp_path: Path, report: Report) -> None:
    tokens = [bytes([byte]) for byte in range(256)] + [b"he", b"ll", b"hell", b"hello", b"  "]
    ranks = b"".join(base64.b64encode(token) + b" %d\n" % rank for rank, token in enumerate(tokens))
    (tmp_path / "own.tiktoken").write_bytes(ranks)
    tokenizer = Tokenizer.from_tiktoken(tmp_path / "own.tiktoken", pattern=R50K_PATTERN, special_tokens={"<end>": 300})
    path = tmp_path / "ranks.dat"
    tokenizer.save(str(path))
    digest = _core.Engine.open(str(path)).source_digest
    certify(
        path,
        replace(
            report,
            target=replace(report.target, source_digest=digest),
            reference=Library("tiktoken", "0.12"),
        ),
    )
    assert read(path) is not None


def test_a_damaged_cartridge_is_not_certified(cartridge: Path, report: Report) -> None:
    data = bytearray(cartridge.read_bytes())
    data[len(data) // 2] ^= 1
    cartridge.write_bytes(data)
    with pytest.raises(CartridgeError):
        certify(cartridge, report)
    assert cartridge.read_bytes() == data


def test_a_certificate_that_cannot_be_written_leaves_the_file(
    cartridge: Path, report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = cartridge.read_bytes()

    def full(*arguments: object) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space"):
        certify(cartridge, report)
    assert cartridge.read_bytes() == before
    assert sorted(path.name for path in cartridge.parent.iterdir()) == ["own.dat", "own.json"]


def test_a_tokenizer_that_is_open_goes_on(cartridge: Path, report: Report) -> None:
    tokenizer = Tokenizer.from_file(cartridge)
    certify(cartridge, report)
    assert tokenizer.decode(tokenizer.encode("Hello, world!").ids) == "Hello, world!"
    assert tokenizer.save(str(cartridge.with_name("copy.dat"))) is None


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"schema": "another"}, "not of schema"),
        ({"source_digest": "0" * 64}, "for another tokenizer.json"),
        ({"inputs": "many"}, "inputs is str"),
        ({"inputs": True}, "inputs is bool"),
        ({"suites": {}}, "suites is dict"),
        ({"command": None}, "command is NoneType"),
    ],
    ids=["schema", "digest", "inputs", "bool", "suites", "command"],
)
def test_what_is_not_trusted(cartridge: Path, report: Report, capfd: Any, change: dict[str, Any], says: str) -> None:
    text = json.dumps({**of_report(report), **change})
    cartridge.write_bytes(_core.with_certificate(cartridge.read_bytes(), text))
    with pytest.raises(CertificateError, match=says):
        read(cartridge)
    assert main(["info", "-t", str(cartridge)]) == 0
    assert "not to be trusted: " in capfd.readouterr().out


def test_what_is_missing(cartridge: Path, report: Report) -> None:
    plain = of_report(report)
    del plain["started"]
    cartridge.write_bytes(_core.with_certificate(cartridge.read_bytes(), json.dumps(plain)))
    with pytest.raises(CertificateError, match="lacks started"):
        read(cartridge)


def test_info_shows_it(cartridge: Path, report: Report, capfd: Any) -> None:
    assert main(["info", "-t", str(cartridge)]) == 0
    assert "no certificate (crayon-hf parity TARGET --certify writes one)" in capfd.readouterr().out
    assert main(["info", "-t", str(cartridge), "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["certificate"] is None
    certify(cartridge, report)
    assert main(["info", "-t", str(cartridge)]) == 0
    assert "agreed with tokenizers 0.23.3 on 6 inputs, 130 characters" in capfd.readouterr().out
    assert main(["info", "-t", str(cartridge), "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["certificate"] == certificate.of_report(report)
