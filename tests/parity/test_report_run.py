"""The run that makes a parity report: its findings, its reaction to a crash, and the command `crayon-hf parity`."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from crayon_hf import _core
from crayon_hf.cartridges.compiling import compile_json
from crayon_hf.cli import main
from crayon_hf.formats import convert, write
from crayon_hf.hub import store
from crayon_hf.parity.report import Report, run
from crayon_hf.parity.report.run import make_report
from tests.hub.hub_tokenizers import resigned, without_a_merge
from tests.parity.report_samples import differing

SMALL: dict[str, Any] = {"strings": 120, "tokens": 20, "texts": (), "speed": False}
VARIANTS = ["pairs", "no special tokens", "words", "special tokens as text", "windows"]


def test_full_agreement(gpt2_like: Path, text: Path) -> None:
    said: list[str] = []
    report = make_report(str(gpt2_like), **{**SMALL, "texts": [text]}, progress=said.append)
    assert said[0].startswith("strings: 0 inputs (part 1 of ")
    assert report.agreed, [suite for suite in report.suites if not suite.agreed]
    assert [suite.name for suite in report.suites] == ["strings", "tokens", "bytes", "own", *VARIANTS]
    assert {suite.name: suite.kind for suite in report.suites}["own"] == "file"
    own = report.suites[3]
    assert (own.digest, own.characters) == (hashlib.sha256(text.read_bytes()).hexdigest(), len(text.read_text("utf-8")))
    assert report.suites[0].inputs == sum(category.inputs for category in report.suites[0].categories) == 120
    assert len(report.suites[0].categories) > 20
    assert (report.target.name, report.target.vocab_size) == ("gpt2_like", 2000)
    assert report.target.source_digest == hashlib.sha256(gpt2_like.read_bytes()).hexdigest()
    assert (report.reference.name, report.reference.version) == ("tokenizers", version("tokenizers"))
    assert report.ours.details == f"native, {_core.cpu_levels()[-1]}"
    assert {"ids", "offsets", "overflowing", "decoded"} <= set(report.compared)
    assert report.versions["tokenizers"] == version("tokenizers")
    assert shlex.split(report.command)[:3] == ["crayon-hf", "parity", str(gpt2_like)]
    assert Report.from_json(report.to_json()) == report


@pytest.mark.slow
def test_a_difference_has_its_smallest_input(gpt2_like: Path, stand_in: ModuleType) -> None:
    report = make_report(str(gpt2_like), **{**SMALL, "strings": 400, "ours": "parity_stand_in:wrong_ids"})
    assert not report.agreed
    assert report.differing
    shown = report.differences[0]
    assert (shown.suite, shown.smallest) == ("strings", (r"\xe91",))
    assert shown.fields[0].field == "ids"
    assert shown.fields[0].ours.startswith("[0, ")
    options = {**SMALL, "strings": 400, "speed": True, "ours": "parity_stand_in:wrong_ids"}
    assert any("not the same" in note for note in make_report(str(gpt2_like), **options).notes)


def test_a_crash_is_a_failure_of_its_suites(gpt2_like: Path, stand_in: ModuleType, text: Path) -> None:
    report = make_report(str(gpt2_like), **{**SMALL, "texts": [text], "ours": "parity_stand_in:crashes_on_cafe"})
    suites = {suite.name: suite for suite in report.suites}
    assert not report.agreed
    assert "the process ended with code 70" in suites["own"].failure
    assert "in ours, on the input 'Some plain words, caf\\xe9s" in suites["own"].failure
    assert suites["tokens"].agreed
    assert suites["words"].agreed
    assert [name for name, suite in suites.items() if suite.failure] == ["own"]


@pytest.mark.parametrize(
    ("function", "says"),
    [
        ("cannot_open", "ours cannot be opened: ValueError: this vocabulary cannot be opened"),
        ("delegated", "delegated to the reference, which proves nothing: a component is not native"),
    ],
)
def test_what_cannot_be_compared_fails_everywhere(
    gpt2_like: Path, stand_in: ModuleType, function: str, says: str
) -> None:
    report = make_report(str(gpt2_like), **{**SMALL, "ours": f"parity_stand_in:{function}"})
    assert not report.agreed
    assert report.suites
    assert all(suite.failure == says and not suite.inputs for suite in report.suites)


# -- the command


def command(*arguments: object) -> int:
    return main(["parity", *map(str, arguments)])


@pytest.mark.slow
def test_the_command_writes_all_forms(gpt2_like: Path, text: Path, tmp_path: Path, capfd: Any) -> None:
    out = tmp_path / "out"
    options = ["--strings", 40, "--text", text, "--no-speed", "--output", out, "--json", tmp_path / "a.json"]
    assert command(gpt2_like, *options) == 0
    lines = capfd.readouterr().out.splitlines()
    assert lines[-1].startswith(f"all agree with tokenizers {version('tokenizers')}: ")
    assert sorted(path.name for path in out.iterdir()) == ["parity.html", "parity.json", "parity.md"]
    report = Report.from_json((tmp_path / "a.json").read_bytes())
    assert report == Report.from_json((out / "parity.json").read_bytes())
    assert command(*shlex.split(report.command)[2:]) == 0  # the command that repeats it
    assert capfd.readouterr().out.splitlines()[-1] == lines[-1]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nonsense"], "no tokenizer 'nonsense'"),
        (["{json}", "--against", "sentencepiece"], "--against tokenizers"),
        (["{json}", "--text", "no-such-file"], "no text"),
        (["{json}", "--certify"], "crayon-hf convert"),
        (["{far}", "--certify"], "cannot be compiled"),
        (["{other}", "--certify"], "another tokenizer.json"),
        (["science", "--certify"], "a part of this package"),
        (["{json}", "--ours", "a:b", "--certify"], "--ours"),
        (["lite", "--greedy", "--certify"], "--greedy"),
        (["{json}", "--strings", "many"], "not a number"),
    ],
)
def test_misuse_is_two(
    repository: Path, gpt2_like: Path, qwen_like: Path, tmp_path: Path, capfd: Any, arguments: list[str], says: str
) -> None:
    far = tmp_path / "far"
    shutil.copy(qwen_like, repository / "tokenizer.json")
    document = json.loads(gpt2_like.read_bytes())
    document["added_tokens"].append({**document["added_tokens"][0], "id": 1 << 30, "content": "<far>"})
    far.mkdir()
    (far / "tokenizer.json").write_text(json.dumps(document), encoding="utf-8")
    before = _everything(tmp_path)
    targets = {"json": gpt2_like, "far": far, "other": repository}
    assert says in refused(capfd, *(argument.format(**targets) for argument in arguments))
    assert _everything(tmp_path) == before


# -- certify


@pytest.mark.parametrize("has_cartridge", [True, False])
def test_certify(repository: Path, text: Path, capfd: Any, has_cartridge: bool) -> None:
    """The certificate goes into the cartridge, which is made if the directory has none. Other bytes stay."""
    cartridge, saved = repository / "tokenizer.dat", text.with_name("r.json")
    before = {path.name: path.read_bytes() for path in repository.iterdir()}
    if not has_cartridge:
        cartridge.unlink()
    options = ["--strings", 40, "--text", text, "--no-speed", "--certify", "--json", saved]
    for _ in range(2):  # a report and a certificate can be replaced
        assert command(repository, *options) == 0
        said = capfd.readouterr().out
        assert f"\nall agree with tokenizers {version('tokenizers')}: " in said
        assert f"wrote the certificate into {cartridge}" in said
    engine = _core.Engine.open(str(cartridge), verify=True)
    plain = json.loads(engine.certificate or "")
    report = Report.from_json(saved.read_bytes())
    assert plain["schema"] == "crayon-hf/parity-certificate/1"
    assert (plain["inputs"], plain["command"]) == (report.inputs, report.command)
    assert plain["source_digest"] == engine.source_digest
    found = {path.name: path.read_bytes() for path in repository.iterdir()}
    assert found | {cartridge.name: _core.with_certificate(cartridge.read_bytes(), None)} == before
    assert main(["info", "-t", str(cartridge)]) == 0
    assert f"agreed with tokenizers {version('tokenizers')} on {report.inputs:,} inputs" in capfd.readouterr().out


FEW = ["--strings", 4, "--tokens", 0, "--no-speed"]


def test_a_directory_stays_as_it_was_without_a_certificate(
    repository: Path, text: Path, capfd: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the run ends with a difference, an error or an interrupt, it leaves no cartridge in the directory."""
    (repository / "tokenizer.dat").unlink()
    before = set(os.listdir(repository))

    def interrupted(*_: object, **__: object) -> None:
        assert set(os.listdir(repository)) == before | {"tokenizer.dat"}
        raise KeyboardInterrupt

    assert "regular expressions of tiktoken" in refused(capfd, repository, *FEW, "--against", "tiktoken", "--certify")
    assert set(os.listdir(repository)) == before
    monkeypatch.setattr(run, "make_report", interrupted)
    assert command(repository, *FEW, "--text", text, "--certify") == 130
    assert set(os.listdir(repository)) == before
    monkeypatch.setattr(run, "make_report", lambda *_, **__: differing())
    assert command(repository, *FEW, "--text", text, "--certify") == 1
    assert "no certificate was written" in capfd.readouterr().out
    assert set(os.listdir(repository)) == before
    assert "would overwrite an input" in refused(capfd, repository, "--certify", "--json", repository / "tokenizer.dat")


def refused(capfd: Any, *arguments: object) -> str:
    """Run the command, which must refuse its arguments before it compares anything, and return its one-line message."""
    assert command(*arguments) == 2
    (message,) = capfd.readouterr().err.splitlines()
    return str(message)


@pytest.mark.parametrize("against", ["tokenizers", "transformers"])
def test_a_lie_is_found_before_it_is_compared(
    repository: Path, text: Path, capfd: Any, monkeypatch: pytest.MonkeyPatch, against: str
) -> None:
    source = (repository / "tokenizer.json").read_bytes()
    lie = resigned(compile_json(without_a_merge(source)), source)
    (repository / "tokenizer.dat").write_bytes(lie)
    monkeypatch.setattr(run, "make_report", None)  # it is not come to
    said = refused(capfd, repository, *FEW, "--text", text, "--against", against, "--certify")
    assert f"{repository}/tokenizer.dat is not the cartridge of {repository}/tokenizer.json: " in said
    assert (repository / "tokenizer.dat").read_bytes() == lie


@pytest.mark.slow
def test_transformers_has_to_use_the_cartridge(wordpiece_like: Path, tmp_path: Path, text: Path, capfd: Any) -> None:
    repository = tmp_path / "words"
    write(convert(wordpiece_like), repository)
    config = {"tokenizer_class": "BertTokenizer", "do_lower_case": True, "strip_accents": True}
    (repository / "tokenizer_config.json").write_text(json.dumps(config))
    before = (repository / "tokenizer.dat").read_bytes()
    options = [*FEW, "--text", text, "--against", "transformers"]
    said = refused(capfd, repository, *options, "--certify")
    assert "than the cartridge says (normalizer" in said
    assert (repository / "tokenizer.dat").read_bytes() == before
    assert command(repository, *options) == 0  # without --certify it is only a note
    assert "does not compare the cartridge" in capfd.readouterr().out


def test_what_was_pulled_is_not_certified(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    files = {name: (repository / name).read_bytes() for name in ("tokenizer.json", "tokenizer.dat")}
    record = store.Record("user/tok", "main", "0" * 40, "repository", None, store.describe(files))
    store.Store(tmp_path / "profiles").install("mine", record, files)
    (inside,) = (tmp_path / "profiles" / ".pulled").glob("*/tokenizer.dat")
    monkeypatch.setenv("CRAYON_PROFILE_DIR", str(tmp_path / "profiles"))
    for target in ("mine", tmp_path / "profiles" / "mine.dat", inside, inside.parent):
        assert "was pulled, and must match its repository" in refused(capfd, target, *FEW, "--certify")
    assert inside.read_bytes() == files["tokenizer.dat"]


# -- outputs


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--json", "a", "--html", "./a"], "is the same file as"),
        (["--json", "out/parity.md", "--output", "out"], "is the same file as"),
        (["--json", "link", "--html", "linked"], "is the same file as"),
        (["--html", "hard"], "would overwrite an input"),
        (["--output", "texts"], "would overwrite an input"),
        (["--json", "no/a.json"], "does not exist"),
        (["--output", "own.txt/a"], "is not a directory"),
        (["--output", "/proc/a/b"], "cannot write there"),
        (["--html", "/dev/null"], "is not a regular file"),
        (["--markdown", "out"], "is a directory"),
    ],
)
def test_outputs_are_looked_at_first(
    repository: Path, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any, arguments: Any, says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(run, "make_report", None)  # it is not come to
    for directory in ("out", "texts"):
        os.mkdir(directory)
    Path("texts/parity.html").write_text("a page")
    os.symlink("linked", "link")
    os.link("repository/tokenizer.json", "hard")
    before = _everything(tmp_path)
    assert says in refused(capfd, "repository", *FEW, "--text", "own.txt", "--text", "texts", *arguments)
    assert _everything(tmp_path) == before


def _everything(directory: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in sorted(directory.rglob("*")) if path.is_file()}
