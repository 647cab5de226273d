"""The run that makes a report: what it finds, what it says of a crash, and the command around it."""

from __future__ import annotations

import hashlib
import json
import lzma
import os
import shlex
import shutil
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from crayon_hf import _core
from crayon_hf.cartridges.source_json import compile_json
from crayon_hf.cli import main
from crayon_hf.formats import convert, write
from crayon_hf.hub import store
from crayon_hf.parity.compare.targets import TargetError, find_target
from crayon_hf.parity.report import Report, run
from crayon_hf.parity.report import write as write_report
from crayon_hf.parity.report.run import make_report
from crayon_hf.parity.speed.processes import Engine, run_job
from crayon_hf.parity.speed.vocabularies import prepare
from tests.hub.hub_tokenizers import resigned, without_a_merge
from tests.parity.report_samples import agreeing, differing

SMALL: dict[str, Any] = {"strings": 120, "tokens": 20, "texts": (), "speed": False}
VARIANTS = ["pairs", "no special tokens", "words", "special tokens as text", "windows"]


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "own.txt"
    path.write_text("Some plain words, cafés and 42 more.\n" * 200, encoding="utf-8")
    return path


def test_full_agreement(gpt2_like: Path, text: Path) -> None:
    report = make_report(str(gpt2_like), **{**SMALL, "texts": [text]})
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
def test_the_same_run_gives_the_same_inputs(gpt2_like: Path) -> None:
    def counts(seed: int) -> list[int]:
        report = make_report(str(gpt2_like), **{**SMALL, "seed": seed})
        return [suite.characters for suite in report.suites]

    assert counts(1) == counts(1) != counts(2)


@pytest.mark.slow
def test_a_difference_has_its_smallest_input(gpt2_like: Path, stand_in: ModuleType) -> None:
    report = make_report(str(gpt2_like), **{**SMALL, "strings": 400, "ours": "parity_stand_in:wrong_ids"})
    assert not report.agreed
    assert report.differing
    shown = report.differences[0]
    assert (shown.suite, shown.smallest) == ("strings", (r"\xe91",))
    assert shown.fields[0].field == "ids"
    assert shown.fields[0].ours.startswith("[0, ")
    assert any(
        "not the same" in note
        for note in make_report(
            str(gpt2_like), **{**SMALL, "strings": 400, "speed": True, "ours": "parity_stand_in:wrong_ids"}
        ).notes
    )


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


def test_bytes_are_left_out_where_they_do_not_come_back(wordpiece_like: Path) -> None:
    report = make_report(str(wordpiece_like), **SMALL)
    assert report.agreed, [suite for suite in report.suites if not suite.agreed]
    assert "bytes" not in [suite.name for suite in report.suites]


@pytest.mark.slow
def test_transformers(gpt2_like: Path, tmp_path: Path) -> None:
    write(convert(gpt2_like), tmp_path / "repository")
    report = make_report(str(tmp_path / "repository"), "transformers", **{**SMALL, "strings": 60})
    assert report.agreed, [suite for suite in report.suites if not suite.agreed]
    assert [suite.name for suite in report.suites] == ["strings", "tokens", *VARIANTS]
    assert {"input_ids", "offset_mapping", "overflowing", "arrays"} <= set(report.compared)
    assert report.ours.details.startswith("native")
    assert (
        report.target.source_digest == hashlib.sha256((tmp_path / "repository/tokenizer.json").read_bytes()).hexdigest()
    )
    assert set(report.versions) == {"crayon-hf", "transformers", "tokenizers"}


@pytest.mark.slow
def test_a_reference_that_does_not_open_is_a_failure(gpt2_like: Path, tmp_path: Path) -> None:
    write(convert(gpt2_like), tmp_path / "repository")
    (tmp_path / "repository" / "tokenizer_config.json").write_text("[]")
    report = make_report(str(tmp_path / "repository"), "transformers", **{**SMALL, "strings": 10, "tokens": 0})
    assert not report.agreed
    assert report.suites[0].failure


# -- texts


def test_a_directory_is_its_files(gpt2_like: Path, tmp_path: Path) -> None:
    texts = tmp_path / "texts"
    (texts / "more").mkdir(parents=True)
    (texts / "a.txt").write_text("one\n" * 900)
    (texts / "more" / "b.txt.xz").write_bytes(lzma.compress(b"two\n"))
    (texts / ".hidden").write_bytes(b"\xff")
    report = make_report(str(gpt2_like), strings=0, texts=[texts], speed=False)
    (suite,) = report.suites
    assert (suite.name, suite.inputs) == ("texts", 3)
    assert [category.name for category in suite.categories] == ["a.txt", os.path.join("more", "b.txt.xz")]


def test_no_text_is_python_s_own(gpt2_like: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CRAYON_SHARED", raising=False)
    report = make_report(str(gpt2_like), strings=0, speed=False, megabytes=0.05)
    (suite,) = report.suites
    assert (suite.name, suite.kind) == ("python-library", "text")
    assert 40_000 < suite.characters <= 50_000


@pytest.mark.parametrize(("content", "says"), [(b"ab\xff", "is not UTF-8: .* at byte 2"), (b"", "it is empty")])
def test_a_text_that_is_none(gpt2_like: Path, tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "text"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=says):
        make_report(str(gpt2_like), strings=0, texts=[path], speed=False)


# -- speed


@pytest.mark.slow
def test_speed_is_of_both_sides(gpt2_like: Path, text: Path) -> None:
    report = make_report(str(gpt2_like), strings=20, tokens=0, texts=[text], rounds=1)
    assert report.agreed
    figures = {(speed.scenario, speed.text): speed for speed in report.speeds}
    assert set(figures) == {("first pass", "own"), ("repeated", "own"), ("short", ""), ("decode", ""), ("open", "")}
    for speed in figures.values():
        assert speed.ours
        assert speed.reference
        assert min(*speed.ours, *speed.reference, 1) > 0
        assert speed.more_is_better == (speed.unit == "MB/s")
        assert speed.ratio is not None


@pytest.mark.slow
def test_transformers_is_timed_as_it_is_called(gpt2_like: Path, tmp_path: Path) -> None:
    write(convert(gpt2_like), tmp_path / "repository")
    (tmp_path / "texts.json").write_text(json.dumps(["one text", "another"]))
    files = prepare(find_target(str(tmp_path / "repository"), "transformers", str(tmp_path)).vocabulary, str(tmp_path))
    found = []
    for engine in ("crayon", "transformers"):
        steps = [{"kind": "ids", "name": "ids", "path": str(tmp_path / "texts.json"), "limit": 60.0}]
        steps[0] |= {"to": str(tmp_path / engine), "keep": str(tmp_path / f"{engine}.json")}
        outcome = run_job(Engine(engine), files, steps, 1)
        assert outcome.opened["call"] == "tokenizer(texts)", outcome
        assert outcome.steps["ids"]["documents"] == 2, outcome
        found.append((tmp_path / f"{engine}.json").read_text())
    assert found[0] == found[1]


def test_without_a_text_nothing_is_timed(gpt2_like: Path) -> None:
    report = make_report(str(gpt2_like), strings=20, tokens=0, texts=())
    assert report.speeds == ()
    assert report.notes == ("speed was not measured, for want of a text",)


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
    assert command(*shlex.split(report.command)[2:]) == 0  # what repeats it
    assert capfd.readouterr().out.splitlines()[-1] == lines[-1]


@pytest.mark.slow
def test_the_command_on_a_difference(gpt2_like: Path, stand_in: ModuleType, text: Path, capfd: Any) -> None:
    options = ["--strings", 400, "--tokens", 0, "--text", text, "--no-speed", "--ours", "parity_stand_in:wrong_ids"]
    assert command(gpt2_like, *options) == 1
    out = capfd.readouterr().out
    assert r"differs on '\xe91'" in out
    assert " inputs differ from tokenizers " in out.splitlines()[-1]


def test_the_command_prints_json(gpt2_like: Path, text: Path, capfd: Any) -> None:
    assert command(gpt2_like, "--strings", 9, "--text", text, "--no-speed", "--json", "-") == 0
    assert Report.from_json(capfd.readouterr().out).agreed


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nonsense"], "no vocabulary"),
        (["{json}", "--against", "sentencepiece"], "--against tokenizers compares it"),
        (["{json}", "--text", "no-such-file"], "no text"),
        (["{json}", "--json", "no/such/directory/a.json"], "its directory does not exist"),
        (["{json}", "--html", "."], "is a directory"),
        (["{json}", "--output", "{json}"], "is not a directory"),
        (["{json}", "--certify"], "make one with crayon-hf convert"),
        (["nonsense", "--certify"], "make one with crayon-hf convert"),
        (["{json}", "--strings", "many"], "is not a number"),
    ],
    ids=["target", "reference", "text", "directory", "file", "output", "certify", "certify-nothing", "number"],
)
def test_misuse_is_two(gpt2_like: Path, capfd: Any, arguments: list[str], says: str) -> None:
    assert command(*(argument.format(json=gpt2_like) for argument in arguments)) == 2
    (message,) = capfd.readouterr().err.splitlines()
    assert says in message


def test_nothing_to_compare_is_no_agreement(gpt2_like: Path) -> None:
    report = make_report(str(gpt2_like), strings=0, texts=(), speed=False)
    assert report.suites == ()
    assert not report.agreed


def test_progress_is_told(gpt2_like: Path) -> None:
    said: list[str] = []
    run.make_report(str(gpt2_like), **SMALL, progress=said.append)
    assert said[0].startswith("strings: 0 inputs (part 1 of ")


# -- certify


@pytest.fixture
def repository(gpt2_like: Path, tmp_path: Path) -> Path:
    write(convert(gpt2_like), tmp_path / "repository")
    return tmp_path / "repository"


def test_certify(repository: Path, text: Path, capfd: Any) -> None:
    cartridge = repository / "tokenizer.dat"
    before = cartridge.read_bytes()
    options = ["--strings", 40, "--text", text, "--no-speed", "--certify", "--json", repository / "r.json"]
    assert command(repository, *options) == 0
    plain = json.loads(_core.Engine.open(str(cartridge), verify=True).certificate or "")
    report = Report.from_json((repository / "r.json").read_bytes())
    assert plain["schema"] == "crayon-hf/parity-certificate/1"
    assert (plain["inputs"], plain["command"]) == (report.inputs, report.command)
    assert _core.with_certificate(cartridge.read_bytes(), None) == before
    capfd.readouterr()
    assert main(["info", "-t", str(cartridge)]) == 0
    assert f"agreed with tokenizers {version('tokenizers')} on {report.inputs:,} inputs" in capfd.readouterr().out


@pytest.mark.slow
def test_without_agreement_nothing_is_certified(repository: Path, text: Path, capfd: Any) -> None:
    cartridge = repository / "tokenizer.dat"
    before = cartridge.read_bytes()
    (repository / "tokenizer_config.json").write_text("[]")  # transformers opens nothing then
    options = ["--strings", 4, "--tokens", 0, "--text", text, "--no-speed", "--against", "transformers", "--certify"]
    assert command(repository, *options) == 1
    assert "no certificate was written" in capfd.readouterr().out
    assert cartridge.read_bytes() == before


FEW = ["--strings", 4, "--tokens", 0, "--no-speed"]


@pytest.fixture
def plain(gpt2_like: Path, tmp_path: Path) -> Path:
    """A directory with a tokenizer.json alone."""
    (tmp_path / "plain").mkdir()
    shutil.copy(gpt2_like, tmp_path / "plain" / "tokenizer.json")
    return tmp_path / "plain"


def test_a_directory_without_a_cartridge_gets_a_certified_one(plain: Path, text: Path, capfd: Any) -> None:
    before = (plain / "tokenizer.json").read_bytes()
    assert command(plain, *FEW, "--text", text, "--certify") == 0
    assert f"wrote the certificate into {plain}/tokenizer.dat" in capfd.readouterr().out
    engine = _core.Engine.open(str(plain / "tokenizer.dat"), verify=True)
    assert engine.source_digest == hashlib.sha256(before).hexdigest()
    assert json.loads(engine.certificate or "")["source_digest"] == engine.source_digest
    assert sorted(os.listdir(plain)) == ["tokenizer.dat", "tokenizer.json"]
    assert (plain / "tokenizer.json").read_bytes() == before
    assert command(plain, *FEW, "--text", text, "--certify") == 0  # and again, now that it has one


def test_info_of_a_directory_shows_the_certificate(plain: Path, text: Path, capfd: Any) -> None:
    assert command(plain, *FEW, "--text", text, "--certify") == 0
    capfd.readouterr()
    for target in (plain, plain / "tokenizer.json", plain / "tokenizer.dat"):
        assert main(["info", str(target)]) == 0
        assert f"agreed with tokenizers {version('tokenizers')} on " in capfd.readouterr().out
        assert main(["info", str(target), "--json"]) == 0
        assert json.loads(capfd.readouterr().out)["certificate"]["target"] == "plain"
    (plain / "tokenizer.json").write_bytes((plain / "tokenizer.json").read_bytes() + b"\n")  # another one
    assert main(["info", str(plain)]) == 0
    assert "no certificate" in capfd.readouterr().out


def test_a_directory_stays_as_it_was_without_a_certificate(
    plain: Path, text: Path, capfd: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No cartridge stays after a difference, a mistake or an interrupt."""

    def interrupted(*_: object, **__: object) -> None:
        assert sorted(os.listdir(plain)) == ["tokenizer.dat", "tokenizer.json"]
        raise KeyboardInterrupt

    assert "regular expressions of tiktoken" in refused(capfd, plain, *FEW, "--against", "tiktoken", "--certify")
    assert os.listdir(plain) == ["tokenizer.json"]
    monkeypatch.setattr(run, "make_report", interrupted)
    assert command(plain, *FEW, "--text", text, "--certify") == 130
    assert os.listdir(plain) == ["tokenizer.json"]
    monkeypatch.setattr(run, "make_report", lambda *_, **__: differing())
    assert command(plain, *FEW, "--text", text, "--certify") == 1
    assert "no certificate was written" in capfd.readouterr().out
    assert os.listdir(plain) == ["tokenizer.json"]
    assert "would overwrite an input" in refused(capfd, plain, "--certify", "--json", plain / "tokenizer.dat")


def test_a_directory_that_has_no_native_form(plain: Path, capfd: Any) -> None:
    document = json.loads((plain / "tokenizer.json").read_bytes())
    document["added_tokens"].append({**document["added_tokens"][0], "id": 1 << 30, "content": "<far>"})
    (plain / "tokenizer.json").write_text(json.dumps(document), encoding="utf-8")
    assert "has no cartridge, and cannot be compiled: " in refused(capfd, plain, *FEW, "--certify")
    assert os.listdir(plain) == ["tokenizer.json"]


def test_a_directory_of_another_format_is_converted_first(tmp_path: Path, gpt2_like: Path, capfd: Any) -> None:
    model = json.loads(gpt2_like.read_bytes())["model"]
    (tmp_path / "slow").mkdir()
    (tmp_path / "slow" / "vocab.json").write_text(json.dumps(model["vocab"]), encoding="utf-8")
    (tmp_path / "slow" / "merges.txt").write_text("\n".join(map(" ".join, model["merges"])), encoding="utf-8")
    assert "make one with crayon-hf convert" in refused(capfd, tmp_path / "slow", *FEW, "--certify")
    assert sorted(os.listdir(tmp_path / "slow")) == ["merges.txt", "vocab.json"]


def refused(capfd: Any, *arguments: object) -> str:
    """What is said, in one line, when nothing was compared."""
    assert command(*arguments) == 2
    (message,) = capfd.readouterr().err.splitlines()
    return str(message)


@pytest.mark.parametrize("option", [["--certify"], ["--html", "x.html"], ["--output", "x"], ["--markdown", "x.md"]])
def test_greedy_makes_no_report(capfd: Any, option: list[str]) -> None:
    assert f"{option[0]} cannot be combined with --greedy" in refused(capfd, "lite", "--greedy", *option)


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
    assert "transformers makes another tokenizer of these files than the cartridge says (normalizer" in said
    assert said.endswith("so the cartridge is not what was compared")
    assert (repository / "tokenizer.dat").read_bytes() == before
    assert command(repository, *options) == 0  # without a certificate it is only a note
    assert "so the cartridge is not what was compared" in capfd.readouterr().out


@pytest.mark.slow
def test_transformers_with_the_cartridge_is_certified(repository: Path, text: Path) -> None:
    assert command(repository, *FEW, "--text", text, "--against", "transformers", "--certify") == 0
    plain = json.loads(_core.Engine.open(str(repository / "tokenizer.dat")).certificate or "")
    assert plain["reference"]["name"] == "transformers"


def test_the_cartridge_has_to_be_what_ours_opens(gpt2_like: Path, repository: Path) -> None:
    with pytest.raises(TargetError, match=r"ours opened .* instead, so the cartridge is not what was compared"):
        make_report(str(gpt2_like), **SMALL, cartridge=repository / "tokenizer.dat")


def test_a_stand_in_is_not_certified(repository: Path, stand_in: ModuleType, text: Path, capfd: Any) -> None:
    ours = ["--ours", "parity_stand_in:agrees"]
    assert "--certify cannot be combined with --ours" in refused(capfd, repository, *FEW, *ours, "--certify")
    assert command(repository, *FEW, "--text", text, *ours, "--json", "-") == 0
    assert Report.from_json(capfd.readouterr().out).command.endswith("--ours parity_stand_in:agrees")


def test_what_comes_with_the_package_is_not_certified(capfd: Any) -> None:
    said = refused(capfd, "science", *FEW, "--certify")
    assert "science.dat is a part of this package: make one with crayon-hf convert science -o" in said


@pytest.mark.parametrize("is_linked", [True, False], ids=["links", "copies"])
def test_what_was_pulled_is_not_certified(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any, is_linked: bool
) -> None:
    if not is_linked:
        monkeypatch.setattr(os, "symlink", _no_links)
    files = {name: (repository / name).read_bytes() for name in ("tokenizer.json", "tokenizer.dat")}
    record = store.Record("user/tok", "main", "0" * 40, "repository", None, store.describe(files))
    store.Store(tmp_path / "profiles").install("mine", record, files)
    (inside,) = (tmp_path / "profiles" / ".pulled").glob("*/tokenizer.dat")
    monkeypatch.setenv("CRAYON_PROFILE_DIR", str(tmp_path / "profiles"))
    for target in ("mine", tmp_path / "profiles" / "mine.dat", inside, inside.parent):
        assert "was pulled, and stays what its repository has" in refused(capfd, target, *FEW, "--certify")
    assert inside.read_bytes() == files["tokenizer.dat"]


def _no_links(*_: object) -> None:
    raise OSError(1, os.strerror(1))


# -- outputs


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--json", "a", "--html", "./a"], "--html ./a is the same file as --json a"),
        (["--json", "out/parity.md", "--output", "out"], "is the same file as --json out/parity.md"),
        (["--json", "link", "--html", "linked"], "--html linked is the same file as --json link"),
        (
            ["--json", "repository/tokenizer.json"],
            "--json repository/tokenizer.json would overwrite an input of the comparison",
        ),
        (["--html", "repository/tokenizer.dat"], "would overwrite an input of the comparison"),
        (["--html", "hard"], "--html hard would overwrite an input of the comparison"),
        (["--markdown", "own.txt"], "--markdown own.txt would overwrite an input of the comparison"),
        (["--output", "texts"], "--output's texts/parity.html would overwrite an input of the comparison"),
        (["--json", "no/a.json"], "--json no/a.json: its directory does not exist"),
        (["--json", "own.txt/a.json"], "--json own.txt/a.json: its directory does not exist"),
        (["--output", "own.txt/a"], "--output own.txt/a is not a directory"),
        (["--html", "/proc/a.html"], "--html /proc/a.html: cannot write there"),
        (["--output", "/proc/a/b"], "--output /proc/a/b: cannot write there"),
        (["--html", "/dev/null"], "--html /dev/null is not a regular file"),
        (["--html", ""], "--html needs a path"),
        (["--markdown", "out"], "--markdown out is a directory"),
    ],
    ids=lambda value: "-".join(value).replace("/", "_") if isinstance(value, list) else "",
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


def test_a_report_may_be_replaced(repository: Path, text: Path) -> None:
    for _ in range(2):
        assert command(repository, *FEW, "--text", text, "--json", repository / "parity.json") == 0


def test_what_cannot_be_written_is_called_what_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, os.strerror(28), ".temporary")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space") as caught:
        write_report(agreeing(), json=tmp_path / "a.json")
    assert caught.value.filename == str(tmp_path / "a.json")


def test_a_cartridge_that_lies_is_not_certified(repository: Path, qwen_like: Path, text: Path, capfd: Any) -> None:
    shutil.copy(qwen_like, repository / "tokenizer.json")
    before = (repository / "tokenizer.dat").read_bytes()
    assert command(repository, "--strings", 40, "--text", text, "--no-speed", "--certify") == 2
    assert "it was compiled from another tokenizer.json" in capfd.readouterr().err
    assert (repository / "tokenizer.dat").read_bytes() == before
