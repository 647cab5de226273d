"""The benchmark: ids before times, peers that are wrong or crash are marked and do not stop it, ratios and tables."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from crayon_hf.parity.compare.references import find
from crayon_hf.parity.speed.child.engines import ENGINES
from crayon_hf.parity.speed.figures import Figure, Report, Standing, Trial, ratio
from crayon_hf.parity.speed.inputs import Sizes, make_inputs
from crayon_hf.parity.speed.measuring import BenchError
from crayon_hf.parity.speed.processes import PEERS, Engine, run_job
from crayon_hf.parity.speed.scenarios import STEADY
from crayon_hf.parity.speed.vocabularies import prepare
from crayon_hf.parity.speed.words import new_words, write_new_words
from parity.bench import prerelease
from parity.bench.command import Bench, main, run_bench
from parity.bench.tables import BEGIN, END, put_between_marks, to_markdown
from parity.bench.targets import SCENARIOS
from parity.bench.verdicts import memory_shortfalls, verdicts

TINY = Sizes(20_000, 5_000, 300, 200, 5, 5_000, 2_000, 1_000_000)
REFERENCES = [Engine("crayon", stand_in="parity_stand_in:agrees"), Engine("tokenizers")]


@pytest.fixture
def text_file(tmp_path: Path) -> Path:
    path = tmp_path / "own.txt"
    path.write_text("Some plain words, caf\u00e9s and 42 more of them.\n" * 400, encoding="utf-8")
    return path


def names(report: Report, scenario: str) -> list[str]:
    return [figure.engine for figure in report.figures if figure.scenario == scenario]


@pytest.mark.slow
def test_every_scenario_of_the_real_thing(gpt2_like: Path, text_file: Path) -> None:
    engines = [Engine("crayon"), Engine("tokenizers"), Engine("tiktoken")]
    options: dict[str, Any] = {"texts": [text_file], "threads": [1], "rounds": 1, "sizes": TINY}
    kept: list[Bench] = []
    bench = run_bench([str(gpt2_like)], engines, keep=kept.append, **options)
    assert kept == [bench]
    (report,) = bench.reports
    assert report.same_ids
    assert report.notes == []
    assert report.texts["own.txt"] == {"bytes": 18400, "documents": 9, "tokens": report.texts["own.txt"]["tokens"]}
    assert report.texts["lines"]["documents"] == 200
    for scenario in SCENARIOS:
        if scenario != "memory":
            assert set(names(report, scenario)) == {"crayon", "tokenizers", "tiktoken"}, scenario
    for figure in report.figures:
        assert min(figure.rounds) > 0, figure
        assert figure.note == ""
    assert report.memory.keys() == {"crayon", "tokenizers", "tiktoken"}
    if trial := report.memory["crayon"].after:  # Linux
        assert [each["bytes"] for each in trial][-1] >= 999_900
        assert report.memory["crayon"].extra["private_grown"] > 0
    plain = json.loads(json.dumps(bench.to_json()))
    assert Bench.from_json(plain).to_json() == plain
    table = bench.to_markdown()
    assert "| first pass, own.txt, 1 thread (3) |" in table
    assert "\u2260" not in table.split("### gpt2_like")[1].split("quarter")[1]


@pytest.mark.slow
def test_rounds_are_kept_apart(gpt2_like: Path, stand_in: ModuleType, text_file: Path) -> None:
    options: dict[str, Any] = {"texts": [text_file], "threads": [1], "rounds": 2, "sizes": TINY}
    (report,) = run_bench([str(gpt2_like)], REFERENCES[:1], scenarios=["first", "repeated", "open"], **options).reports
    assert [len(figure.rounds) for figure in report.figures] == [2, 2 * STEADY, 2]
    assert [figure.scenario for figure in report.figures] == ["first", "repeated", "open"]


def test_wrong_ids_of_ours_are_not_timed(
    gpt2_like: Path, stand_in: ModuleType, text_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [str(gpt2_like), "--text", str(text_file), "--rounds", "1", "--threads", "1", "--scenario", "first"]
    before = signal.getsignal(signal.SIGTERM)
    assert main([*arguments, "--engines", "crayon", "--ours", "parity_stand_in:wrong_ids", "--silent"]) == 1
    assert signal.getsignal(signal.SIGTERM) is before  # a child that this process forks is ended by it
    printed = capsys.readouterr().out
    assert "crayon: not the ids of tokenizers" in printed
    assert "### Ratios" not in printed


@pytest.mark.slow
def test_peers_that_are_wrong_or_crash_are_marked(gpt2_like: Path, stand_in: ModuleType, text_file: Path) -> None:
    peers = [Engine(name, stand_in=f"parity_stand_in:{name}_peer") for name in ("right", "wrong", "crashing", "closed")]
    scenarios = ["first", "new-words"]
    options: dict[str, Any] = {"texts": [text_file], "threads": [1], "rounds": 1, "sizes": TINY}
    bench = run_bench([str(gpt2_like)], [*REFERENCES, *peers], scenarios=scenarios, **options)
    (report,) = bench.reports
    assert report.same_ids
    assert report.standings["wrong"].differing == {"own.txt": 9}
    assert "code 70" in report.standings["crashing"].failed["own.txt"]
    assert "opens nothing" in report.standings["closed"].cannot_open
    assert set(names(report, "first")) == {"crayon", "tokenizers", "right", "wrong"}
    assert set(names(report, "new-words")) == {"crayon", "tokenizers", "right", "wrong", "crashing"}
    table = bench.to_markdown()
    assert "| wrong | 9 of 12 documents differ |" in table
    assert "| closed | cannot open it |" in table
    details = table.split("### gpt2_like")[1]
    first = next(line for line in details.splitlines() if line.startswith("| first pass"))
    assert first.count("\u2260") == 1


def test_a_step_over_its_limit_does_not_end_the_job(gpt2_like: Path, text_file: Path, tmp_path: Path) -> None:
    files = prepare(find(str(gpt2_like)), str(tmp_path))
    inputs = make_inputs([str(text_file)], str(tmp_path), TINY, ["lines"])
    step = {"kind": "passes", "path": inputs.texts["lines"].path, "repeats": 0}
    steps = [{**step, "name": "slow", "limit": 1e-6}, {**step, "name": "next", "limit": 60}]
    outcome = run_job(Engine("tokenizers"), files, steps, 1)
    assert outcome.steps["slow"] == {"over": 1e-6}
    assert outcome.steps["next"]["wall"][0] > 0


def test_nothing_to_compare_with(gpt2_like: Path, text_file: Path) -> None:
    judge = Engine("tokenizers", python="/no/such/python")
    with pytest.raises((BenchError, OSError)):
        run_bench([str(gpt2_like)], [judge], [text_file], ["first"], sizes=TINY)


def test_tiktoken_of_a_tokenizer_json(gpt2_like: Path, llama3_like: Path, wordpiece_like: Path, tmp_path: Path) -> None:
    for path in (gpt2_like, llama3_like):
        vocabulary = find(str(path))
        contestant = ENGINES["tiktoken"][1](prepare(vocabulary, str(tmp_path)), 1)
        text = "The lazy dog's 12345 caf\u00e9s \u4f60\u597d\n\n  def f(): pass"
        reference = vocabulary.open_reference()
        assert contestant.short(text) == reference.encode(text, add_special_tokens=False).ids
    assert prepare(find(str(wordpiece_like)), str(tmp_path))["tiktoken"] == "tiktoken runs BPE only"


def test_new_words_are_new(tmp_path: Path) -> None:
    words = new_words(3)
    some = [next(words) for _ in range(200_000)]
    assert len(set(some)) == len(some)
    path = tmp_path / "words"
    write_new_words(str(path), 10_000)
    written = path.read_text(encoding="ascii").split()
    assert 9_900 < path.stat().st_size <= 10_000
    assert len(set(written)) == len(written)


# -- figures, without measuring


def figure(engine: str, rounds: list[float], scenario: str = "first", text: str = "t", unit: str = "MB/s") -> Figure:
    return Figure(scenario, text, 1, engine, "call", "lists", unit, rounds, rounds)


def judged(**differing: dict[str, int]) -> Report:
    engines = ("crayon", "a", "b")
    report = Report("v", "tokenizers 0", texts={"t": {"bytes": 10, "documents": 7, "tokens": 3}})
    report.standings = {name: Standing(name, "1", differing=differing.get(name, {})) for name in engines}
    return report


def test_ratios_are_of_medians() -> None:
    assert ratio([90.0, 100.0, 500.0], [4.0, 5.0, 6.0], "MB/s") == 20
    assert ratio([2.0], [9.0, 3.0, 6.0], "ms") == 3
    assert figure("a", [90.0, 100.0, 110.0]).spread == pytest.approx(0.05)


def test_the_best_peer_is_one_with_the_same_ids() -> None:
    report = judged(b={"t": 2})
    report.figures = [figure("crayon", [90.0, 100.0, 500.0]), figure("a", [25.0]), figure("b", [50.0])]
    (verdict,) = verdicts(report)
    assert verdict.best is report.figures[1]
    assert (verdict.ratio, verdict.other_ratio, verdict.short) == (4, 2, False)
    table = to_markdown([], [report], "", [])
    assert "| first pass, t, 1 thread (3) | 4.00 a (2.00 b) |" in table
    assert "No cell." in table
    assert "| 100 \u00b1" in table
    assert "| b | 2 of 7 documents differ |" in table


def test_what_falls_short_is_marked_and_has_a_reason() -> None:
    report = judged()
    report.figures = [figure("crayon", [50.0]), figure("a", [25.0]), figure("b", [20.0])]
    assert [verdict.short for verdict in verdicts(report)] == [True]
    assert "**2.00 a**" in to_markdown([], [report], "", [])
    assert "No reason is written down yet." in to_markdown([], [report], "", [])
    reasons = [
        {"scenario": "repeated", "why": "other", "moves": "other"},
        {"scenario": "first", "vocabulary": ["v", "w"], "why": "Cold tables.", "moves": "warmer ones."},
    ]
    table = to_markdown([], [report], "", reasons)
    assert "- Cold tables. What would move it: warmer ones.\n  - v: first pass, t, 1 thread (2.00 of 3)" in table


def test_times_and_prose() -> None:
    report = judged()
    report.figures = [
        figure("crayon", [2.0], "short", "short strings", "\u00b5s"),
        figure("a", [3.0], "short", "short strings", "\u00b5s"),
        figure("crayon", [100.0], "hostile", "prose"),
        figure("crayon", [5.0], "hostile", "spaces"),
        figure("a", [1.0], "hostile", "spaces"),
    ]
    short, spaces = verdicts(report)
    assert (short.ratio, short.short) == (1.5, True)
    assert (spaces.ratio, spaces.prose, spaces.short) == (5, 20, True)


def test_memory_that_grows() -> None:
    report = judged()
    after = [{"bytes": 2e6, "dirty_grown": 1.0, "resident": 50.0}, {"bytes": 8e7, "dirty_grown": 1.5, "resident": 51.0}]
    report.memory["crayon"] = Trial(
        "crayon", {"resident_grown": 3.0, "dirty_grown": 0.1}, after, {"private_grown": 7.0}
    )
    assert memory_shortfalls(report) == []
    after[1]["dirty_grown"] = 3.0
    report.memory["crayon"].extra["private_grown"] = 9.0
    assert [each.split()[0] for each in memory_shortfalls(report)] == ["9.0", "1.0"]
    assert "| v, crayon | 51 | 3.0 | 0.1 | 1.0 (2 MB); 3.0 (80 MB) | 9.0 |" in to_markdown([], [report], "", [])


# -- the command


def test_kept_figures_into_a_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = judged()
    report.figures = [figure("crayon", [50.0]), figure("a", [25.0])]
    report.figures[0].cpu = [60.0]
    kept, document = tmp_path / "kept.json", tmp_path / "performance.md"
    kept.write_text(json.dumps(Bench(["- Machine: m"], "s", [report]).to_json()), encoding="utf-8")
    document.write_text(f"# Before\n\n{BEGIN}\nold\n{END}\n\nAfter\n", encoding="utf-8")
    assert main(["--from", str(kept), "--markdown", str(document)]) == 0
    written = document.read_text(encoding="utf-8")
    assert written.startswith(f"# Before\n\n{BEGIN}\n- Machine: m\n- s\n")
    assert written.endswith(f"{END}\n\nAfter\n")
    assert "\nold\n" not in written
    assert main(["--from", str(kept), "--markdown", str(tmp_path / "new.md")]) == 0
    assert (tmp_path / "new.md").read_text(encoding="utf-8").startswith(f"{BEGIN}\n- Machine: m\n- s\n")
    assert "**2.00 a**" in written
    assert main(["--from", str(kept), "--clock", "cpu"]) == 0
    assert "**2.40 a**" in capsys.readouterr().out
    with pytest.raises(ValueError, match="has no"):
        put_between_marks(kept, "")
    kept.write_text("{}", encoding="utf-8")
    assert main(["--from", str(kept)]) == 1
    assert "schema" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["no-such-vocabulary"], ["{vocabulary}", "--text", "no-such-text"]])
def test_misuse_is_two(gpt2_like: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    arguments = [argument.format(vocabulary=gpt2_like) for argument in arguments]
    assert main([*arguments, "--scenario", "first", "--silent"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize(
    "arguments", [["--threads", "0"], ["--scenario", "second"], ["--engines", "warp"], ["--peer", "crayon=a:b"]]
)
def test_bad_options(arguments: list[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(arguments)


def test_a_profile_is_measured_as_its_tokenizer_json(text_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--rounds", "0", "--threads", "1", "--scenario", "first", "--json", "-", "--megabytes", "0.01"]
    assert main(["lite", "--text", str(text_file), "--silent", *options]) == 0
    (report,) = json.loads(capsys.readouterr().out)["reports"]
    assert report["same_ids"] is True
    assert report["standings"].keys() >= {"crayon", "tokenizers"}


def test_an_empty_text_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = tmp_path / "empty.txt"
    empty.write_bytes(b"")
    assert main(["lite", "--text", str(empty), "--quick", "--silent"]) == 1
    assert "empty.txt is empty" in capsys.readouterr().err


def test_the_environment_of_the_prerelease_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def create(directory: Path, with_pip: bool) -> None:
        made.append(directory.name)
        directory.mkdir(parents=True)

    class Done:
        returncode, stderr = 1, "no network"

    monkeypatch.setenv("CRAYON_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(prerelease.venv, "create", create)  # type: ignore[attr-defined]
    monkeypatch.setattr(prerelease.subprocess, "run", lambda *arguments, **options: Done)  # type: ignore[attr-defined]
    with pytest.raises(OSError, match="cannot be installed"):
        prerelease.interpreter()
    Done.returncode = 0
    assert prerelease.interpreter() == prerelease.interpreter()
    assert len(made) == 2
    assert set(PEERS) | {"prerelease", "transformers", "sentencepiece"} == set(ENGINES)
