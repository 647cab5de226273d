"""`python -m parity.crayon`: CRAYON in processes of their own, planted differences, and another release beside it.

Most tests run a small package that stands in for CRAYON, so that they need none.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import parity.crayon.__main__ as suite
from crayon_hf import CrayonVocab
from crayon_hf.errors import UnsupportedError
from parity.crayon.processes import ChildError, Opened
from parity.crayon.releases import lost_characters
from parity.crayon.speed import ratio, works
from tests.support.crayon_package import needs_crayon
from tests.support.version_2_files import WORDS, write_version_2

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="an interpreter that is a shell script")

STAND_IN = """
import json
from pathlib import Path

class CrayonVocab:
    def __init__(self, device):
        print("what CRAYON prints when it opens")
        if {turbo}:
            self._turbo_backend = object()

    def load_profile(self, path):
        self.tokens = json.loads(Path(path).with_suffix(".json").read_text(encoding="utf-8"))
        self.ids = {{token.encode(): id for id, token in enumerate(self.tokens) if token}}

    def tokenize(self, text):
        if not isinstance(text, str):
            return [self.tokenize(each) for each in text]
        if "crash" in text:
            raise KeyError(text)
        return [id for part in ({cut}) for id in self.match(part.encode())]

    def match(self, data):
        found = []
        while data:
            size = next((n for n in range(len(data), 0, -1) if data[:n] in self.ids), 0)
            found.append(self.ids[data[:size]] if size else 1)
            data = data[size or 1:]
        return found

    def decode(self, ids):
        return "".join(self.tokens[id] for id in ids)
"""


def stand_in(directory: Path, release: str, cut: str, turbo: bool) -> str:
    """The interpreter of an environment with such a CRAYON."""
    package = directory / release / "crayon"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(STAND_IN.format(cut=cut, turbo=turbo))
    metadata = package.parent / f"xerv_crayon-{release}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: xerv-crayon\nVersion: {release}\n")
    (package / "resources" / "dat").mkdir(parents=True)
    write_version_2(package / "resources" / "dat" / "vocab_words.dat", WORDS)
    python = directory / release / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{package.parent}" exec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    return str(python)


@pytest.fixture(scope="module")
def crayon(tmp_path_factory: pytest.TempPathFactory) -> str:
    return stand_in(tmp_path_factory.mktemp("crayon"), "5.3.8", "[text]", False)


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> str:
    return stand_in(tmp_path_factory.mktemp("crayon"), "5.7.0", "text.replace(' ', '\\0 \\0').split('\\0')", True)


@needs_crayon
@pytest.mark.parametrize("name", ["lite", "standard"])
def test_the_published_package(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    (path,) = [path for path in suite.shipped() if name in path]
    assert suite.main([path, "--strings", "300"]) == 0
    assert f"xerv-crayon {suite.RELEASE}" in capsys.readouterr().out


def test_agreement(crayon: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert suite.main(["--python", crayon, "--strings", "200"]) == 0
    said = capsys.readouterr().out
    assert "vocab_words.dat" in said
    assert "what CRAYON prints" not in said
    bare = write_version_2(tmp_path / "bare.dat", WORDS, companion=False)
    with pytest.raises(UnsupportedError, match=r"bare\.dat cannot be opened with .*FileNotFoundError"):
        suite.open_crayon(str(bare), crayon)


@pytest.mark.parametrize("what", ["ids", "decoded"])
def test_planted_difference(
    what: str, crayon: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Planted(CrayonVocab):
        def tokenize(self, texts):
            rows = super().tokenize(texts)
            return [[*row, 2] if "h" in text and what == "ids" else row for text, row in zip(texts, rows, strict=True)]

        def decode(self, ids):
            text = super().decode(ids)
            return text if what == "ids" else text.replace("h", "H")

    monkeypatch.setattr(suite, "CrayonVocab", Planted)
    assert suite.main(["--python", crayon, "--strings", "200"]) == 1
    said = capsys.readouterr().out
    assert "'h'  (1 characters" in said
    assert f"{what}: first difference" in said


def test_another_release(crayon: str, other: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert suite.main(["--python", other]) == 2
    assert "xerv-crayon 5.7.0 has another engine (crayon_turbo)" in capsys.readouterr().err
    text = tmp_path / "own.txt"
    text.write_text("the thesis ü" * 100, encoding="utf-8")
    options = ["--python", crayon, "--other-python", other, "--strings", "0", "--text", str(text)]
    assert suite.main(options) == 0
    said = capsys.readouterr().out
    assert "beside 5.7.0 (crayon_turbo, list)" in said
    # 5.3.8: the, " the", s, i, s, " ", two bytes of ü; 5.7.0: the, " ", thesis, " ", two bytes of ü
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in said.splitlines() if line.startswith("| own")]
    first, second, ours = lines
    assert [line[2] for line in lines] == ["5.3.8", "5.7.0", "crayon-hf"]
    assert first[3:] == ["800", "1.000", "100.0%", "0.0%", "33.33%"]
    assert second[3:] == ["600", "0.750", "0.0%", "0.0%", "8.33%"]
    assert ours[3:] == ["800", "1.000", "0.0%", "100.0%", "0.00%"]


def test_lost_characters() -> None:
    tokens = [b"a", b'"', "é".encode(), b"\xe6"]
    assert lost_characters('a"é', [0, 1, 2], tokens) == 0
    assert lost_characters("a日日", [0, 1, 1, 1, 3, 1, 1], tokens) == 2
    for ids in ([0], [0, 0], [0, 1, 1, 1]):
        with pytest.raises(ValueError, match=r"^(id|the ids) "):
            lost_characters("aé", ids, tokens)


@pytest.mark.slow
def test_speed(crayon: str, other: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = tmp_path / "own.txt"
    text.write_text("the thesis\n" * 300, encoding="utf-8")
    options = ["--python", crayon, "--other-python", other, "--strings", "0", "--text", str(text)]
    assert suite.main([*options, "--speed", "--rounds", "1"]) == 0
    said = capsys.readouterr().out
    assert "| text | pass | 5.3.8 | 5.7.0 | ours, lists | ours, arrays | lists / 5.3.8 |" in said
    assert "| own, 300 lines one by one | cold |" in said
    assert "| own, one text of 0.0 MB | warm |" in said
    assert suite.main(["--python", crayon, "--speed"]) == 2
    assert "give --texts or --text FILE" in capsys.readouterr().err


def test_figures() -> None:
    assert ratio([(4, 6), (8, 6), (9, 6)], [(2, 1), (2, 2), (3, 3)]) == "3.0 (3.0)"
    made = {work.name: work for work in works("own", b"one line\n\n" * 800_000)}
    assert [len(work.texts) for work in made.values()] == [2000, 1954, 1, 1]
    assert [work.bytes for work in made.values()] == [16_000, 1954 * 2048, 1954 * 2048, 8_000_000]


def test_processes_that_fail(crayon: str, tmp_path: Path) -> None:
    path = str(write_version_2(tmp_path / "words.dat", WORDS))
    with Opened("crayon", path, crayon) as opened, pytest.raises(ChildError, match="KeyError"):
        opened.ids(["crash"])
    with pytest.raises(UnsupportedError, match="has no CRAYON"):
        suite.shipped("/bin/false")
    with pytest.raises(UnsupportedError, match="the process ended with code"):
        Opened("crayon", path, "/bin/false")


def test_process_that_ends_before_it_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Ended(subprocess.Popen[str]):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            self.wait()

    monkeypatch.setattr(subprocess, "Popen", Ended)
    with pytest.raises(UnsupportedError, match="the process ended with code 1: no message"):
        Opened("crayon", str(tmp_path / "words.dat"), "/bin/false")
