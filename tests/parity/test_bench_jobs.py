"""The benchmark's job scenarios: every engine gets the same work, results are compared, and no process is left."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from crayon_hf.parity.compare.references import Vocabulary
from crayon_hf.parity.speed.figures import Bench, Report
from crayon_hf.parity.speed.processes import Engine
from crayon_hf.parity.speed.vocabularies import find_any
from parity.bench import jobs
from parity.bench.__main__ import main
from parity.bench.tables import to_markdown
from parity.bench.watching import Watch
from tests.conftest import SENTENCES

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text("\n".join(f"{sentence} {n}" for n, sentence in enumerate(SENTENCES * 20)), encoding="utf-8")
    return path


@pytest.fixture
def run(text: Path, gpt2_like: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Report]:
    """A function that runs scenarios with engines, and returns the report."""

    def run(scenarios: str, *engines: str) -> Report:
        kept = tmp_path / "figures.json"
        options = ["--rounds", "1", "--threads", "1", "--megabytes", "0.05", "--json", str(kept), "--text", str(text)]
        assert main([str(gpt2_like), *options, "--scenario", scenarios, "--engines", ",".join(engines)]) == 0
        bench = Bench.from_json(json.loads(kept.read_text(encoding="utf-8")))
        assert to_markdown(bench) == capsys.readouterr().out
        (report,) = bench.reports
        return report

    return run


def test_a_file_and_a_corpus(run: Callable[..., Report]) -> None:
    report = run("file,corpora", "crayon")
    figures = {(figure.scenario, figure.engine): figure for figure in report.figures}
    assert sorted(figures) == [
        (scenario, engine)
        for scenario in ("corpora", "corpora, memory", "corpora, moved", "corpora, processor", "file", "file, memory")
        for engine in ("crayon", "encode_ragged")
    ]
    assert all(figure.rounds[0] > 0 for figure in figures.values())
    assert all(standing.exact(name) for standing in report.standings.values() for name in report.texts)


def test_a_server(run: Callable[..., Report], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"PROMPTS": {50: 2, 20_000: 1}, "STREAMS": 4, "STEPS": 10, "WORKERS": 2}.items():
        monkeypatch.setattr(jobs, name, value)
    report = run("server", "crayon")
    times = ("prompt of 50 tokens", "prompt of 20,000 tokens", "a step of 4 streams", "start to first token")
    units = dict.fromkeys(times, "\u00b5s") | {"each of 2 workers": "MB"}
    for engine in ("crayon", "tokenizers"):
        found = [figure for figure in report.figures if figure.engine == engine]
        assert {figure.text.partition(", ")[2]: figure.unit for figure in found} == units
        assert all(figure.rounds[0] > 0 for figure in found)
        assert all(report.standings[engine].exact(figure.text) for figure in found)
    assert report.same_ids


def test_first_openings(run: Callable[..., Report]) -> None:
    engines = ("crayon", "no_cartridge", "no_cache")
    report = run("first-opening", *engines)
    assert sorted(figure.engine for figure in report.figures) == sorted(["transformers", *engines])
    assert all(figure.unit == "ms" and figure.rounds[0] > 0 for figure in report.figures)
    assert all(report.standings[figure.engine].exact(figure.text) for figure in report.figures)


def test_a_first_opening_is_of_the_directory_as_it_is(gpt2_like: Path, tmp_path: Path) -> None:
    from crayon_hf import AutoTokenizer

    source, inputs = tmp_path / "model", tmp_path / "inputs"
    source.mkdir()
    inputs.mkdir()
    (source / "tokenizer.json").write_bytes(gpt2_like.read_bytes())
    settings = {"tokenizer_class": "GPT2TokenizerFast", "model_max_length": 7, "errors": "strict"}
    (source / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    vocabulary = find_any(str(source), str(tmp_path))
    size, work = jobs.JOBS["first-opening"].make(lambda limit: b"one text", 100, inputs, vocabulary)
    assert (size, work["text"]) == (8, "one text")
    files = {name: sorted(each.name for each in Path(work[name]).iterdir()) for name in ("plain", "with_cartridge")}
    assert files["plain"] == ["tokenizer.json", "tokenizer_config.json"]
    assert files["with_cartridge"] == ["tokenizer.dat", *files["plain"]]
    for name in files:
        opened = AutoTokenizer.from_pretrained(work[name])
        assert type(opened).__name__.startswith("GPT2Tokenizer")
        assert opened.model_max_length == 7


def test_every_round_is_compared(text: Path, gpt2_like: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine whose results are right only in the first round counts as wrong, and one that fails says why. Only our
    engine decides the exit status."""
    answers = {"encode_ragged": "aaaa", "crayon": "aaab", "gigatoken": "aaaa", "datatrove": "a!!!"}
    seen: dict[str, int] = {}

    def answer(name: str, engine: Engine, *_: Any) -> tuple[dict[str, Any], Watch]:
        digest = answers[engine.name][seen.get(engine.name, 0)]
        seen[engine.name] = seen.get(engine.name, 0) + 1
        status = {"status": "failed", "says": "it broke"} if digest == "!" else {"status": "ok"}
        return {**status, "version": "1", "digest": digest, "wall": 1.0, "cpu": 1.0}, Watch()

    monkeypatch.setattr(jobs, "_run", answer)
    for rounds, same in ((3, True), (4, False)):
        seen.clear()
        report = Report("gpt2", "tokenizers")
        engines = list(map(Engine, answers))
        vocabulary = Vocabulary("gpt2", "tokenizers", gpt2_like)
        jobs.measure_job("corpora", vocabulary, [str(text)], report, engines, 1, rounds, 1000)
        (of,) = {figure.text for figure in report.figures}
        assert report.same_ids is same
        assert report.standings["crayon"].exact(of) is same
        assert report.standings["gigatoken"].exact(of)
        assert report.standings["datatrove"].failed == {of: "it broke"}
