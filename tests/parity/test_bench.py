"""The benchmark against other tokenizer libraries (peers): it compares ids before timing, marks wrong or crashing peers
and continues, and prints ratios and tables."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import ModuleType

import pytest

from crayon_hf.parity.speed.figures import Bench, Figure, Report, Standing
from crayon_hf.util.markdown import put_between_marks
from parity import texts
from parity.bench.__main__ import SCENARIOS, main
from parity.bench.tables import best_peers, to_markdown


def unaligned(table: str) -> str:
    return re.sub(" +", " ", table)


def names(report: Report, scenario: str) -> list[str]:
    return [figure.engine for figure in report.figures if figure.scenario == scenario]


@pytest.mark.slow
def test_every_scenario_of_the_real_thing(gpt2_like: Path, text: Path, tmp_path: Path) -> None:
    kept = tmp_path / "figures.json"
    options = ["--engines", "crayon,tokenizers,tiktoken", "--threads", "1", "--rounds", "1", "--megabytes", "0.03"]
    assert main([str(gpt2_like), "--text", str(text), *options, "--json", str(kept)]) == 0
    bench = Bench.from_json(json.loads(kept.read_text(encoding="utf-8")))
    (report,) = bench.reports
    assert report.same_ids
    assert report.notes == []
    assert report.texts["own.txt"] == {"bytes": 7600, "documents": 4, "tokens": report.texts["own.txt"]["tokens"]}
    assert report.texts["lines"]["documents"] == 15_000
    for scenario in SCENARIOS:
        if scenario != "memory":
            assert set(names(report, scenario)) == {"crayon", "tokenizers", "tiktoken"}, scenario
    for figure in report.figures:
        assert min(figure.rounds) > 0, figure
        assert figure.note == ""
    assert report.memory.keys() == {"crayon", "tokenizers", "tiktoken"}
    if trial := report.memory["crayon"]["after"]:  # Linux
        assert [each["bytes"] for each in trial][-1] >= 1_199_900
    plain = json.loads(json.dumps(bench.to_json()))
    assert Bench.from_json(plain).to_json() == plain
    table = unaligned(to_markdown(bench))
    assert "| first pass, own.txt, 1 thread |" in table
    assert "\u2260" not in table.split("### gpt2_like")[1].split("quarter")[1]


def test_texts_of_any_size(gpt2_like: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The scale scenario reads plain files repeatedly: every process gets the same documents, and memory stays
    bounded."""
    monkeypatch.setattr(texts, "ROOTS", ())
    kept = tmp_path / "figures.json"
    options = ["--scale", "0.3", "--text", "code,words", "--engines", "crayon,tokenizers", "--rounds", "1"]
    assert main([str(gpt2_like), *options, "--json", str(kept), "--markdown", str(tmp_path / "t.md")]) == 0
    (report,) = Bench.from_json(json.loads(kept.read_text(encoding="utf-8"))).reports
    documents = {name: entry["documents"] for name, entry in report.texts.items()}
    assert documents == {"code, 0.3 MB": 147, "words, 0.3 MB": 147}
    assert all(standing.exact(name) for standing in report.standings.values() for name in report.texts)
    figures = {figure.scenario: figure for figure in report.figures if figure.engine == "crayon"}
    assert len(figures["scale, steady"].rounds) == 3
    if "scale, memory at most" in figures:  # Linux
        assert figures["scale, memory at most"].median >= figures["scale, memory after trim()"].median > 10


def test_wrong_ids_of_ours_are_not_timed(
    gpt2_like: Path, stand_in: ModuleType, text: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [str(gpt2_like), "--text", str(text), "--rounds", "1", "--threads", "1", "--scenario", "first"]
    assert main([*arguments, "--engines", "crayon", "--peer", "crayon=parity_stand_in:wrong_lists"]) == 1
    printed = capsys.readouterr().out
    assert "crayon: not the ids of tokenizers" in printed
    assert "Ratios" not in printed


# -- figures, without measuring


def figure(engine: str, rounds: list[float], scenario: str = "first", text: str = "t", unit: str = "MB/s") -> Figure:
    return Figure(scenario, text, 1, engine, "call", "lists", unit, rounds, rounds)


def judged(**differing: dict[str, int]) -> Report:
    engines = ("crayon", "a", "b")
    report = Report("v", "tokenizers 0", texts={"t": {"bytes": 10, "documents": 7, "tokens": 3}})
    report.standings = {name: Standing(name, "1", differing=differing.get(name, {})) for name in engines}
    return report


def test_the_best_peer_is_one_with_the_same_ids() -> None:
    report = judged(b={"t": 2})
    report.figures = [figure("crayon", [90.0, 100.0, 500.0]), figure("a", [25.0]), figure("b", [50.0])]
    cell = ("first", "t", 1)
    assert best_peers(report, cell) == ("4.00 (4.00) a", "2.00 (2.00) b")
    table = unaligned(to_markdown(Bench(reports=[report])))
    assert "| first pass, t, 1 thread | 4.00 (4.00) a; other ids: 2.00 (2.00) b |" in table
    assert "| 100 \u00b1" in table
    assert "| b | 2 of 7 documents differ |" in table


# -- the command


BEGIN, END = "<!-- bench: begin -->", "<!-- bench: end -->"


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
    assert "2.00 (2.40) a" in written
    assert main(["--from", str(kept)]) == 0
    printed = capsys.readouterr().out
    assert "50.0 (60.0)" in printed
    with pytest.raises(ValueError, match="has no"):
        put_between_marks(kept, "bench", "")
    kept.write_text("{}", encoding="utf-8")
    assert main(["--from", str(kept)]) == 2
    assert "schema" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["no-such-vocabulary"], ["{vocabulary}", "--text", "no-such-text"]])
def test_misuse_is_two(gpt2_like: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    arguments = [argument.format(vocabulary=gpt2_like) for argument in arguments]
    assert main([*arguments, "--scenario", "first"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
