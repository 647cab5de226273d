"""README's snippets run as they stand."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.release import readme
from tests.support.versions import before_1


@before_1("transformers beside it, which the first snippet calls")
@pytest.mark.skipif(os.name == "nt", reason="a shell of Unix")
def test_every_snippet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "crayon-hf"
    command.write_text(f"#!{sys.executable}\nimport sys\nfrom crayon_hf.cli import main\nsys.exit(main())\n")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", os.pathsep.join([str(tmp_path / "bin"), os.environ["PATH"]]))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(readme.ROOT), *sys.path]))
    (tmp_path / "here").mkdir()
    done = readme.run(tmp_path / "here")
    assert [(snippet.code, failure) for _, snippet, failure in done if failure] == []
    assert len(done) >= 10


def test_what_is_left_out_needs_something() -> None:
    found = list(readme.snippets((readme.ROOT / "README.md").read_text(encoding="utf-8")))
    assert found[0].code.startswith("from crayon_hf import AutoTokenizer")
    assert [snippet.needs.partition(",")[0] for snippet in found if snippet.needs] == [
        "the package tiktoken",
        "the package datasets",
        "the network and an account",
        "PyTorch and a GPU",
    ]


def test_ci_runs_the_two_commands() -> None:
    text = (readme.ROOT / "README.md").read_text(encoding="utf-8")
    commands = text[text.index("## Two commands") : text.index("## Use\n")]
    blocks = [code for language, code in readme._FENCE.findall(commands) if language == "sh"]
    assert len(blocks) == 2
    ci = (readme.ROOT / ".ci" / "run").read_text(encoding="utf-8")
    for block in blocks:
        assert block in ci
