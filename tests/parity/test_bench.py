"""The benchmark against other tokenizer libraries (peers): it compares ids before timing, marks wrong or crashing peers
and continues, and prints ratios and tables."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from crayon_hf.parity.speed.child import tasks
from crayon_hf.parity.speed.figures import Figure, Report, Standing
from crayon_hf.parity.speed.inputs import Sizes
from crayon_hf.parity.speed.processes import Engine
from crayon_hf.parity.speed.vocabularies import find_any
from crayon_hf.util.markdown import put_between_marks
from parity import texts
from parity.bench.__main__ import SCENARIOS, Bench, main, run_bench
from parity.bench.tables import best_peers, to_markdown

TINY = Sizes(20_000, 5_000, 300, 200, 5, 5_000, 2_000, 1_000_000)


def names(report: Report, scenario: str) -> list[str]:
    return [figure.engine for figure in report.figures if figure.scenario == scenario]


@pytest.mark.slow
def test_every_scenario_of_the_real_thing(gpt2_like: Path, text: Path) -> None:
    engines = [Engine("crayon"), Engine("tokenizers"), Engine("tiktoken")]
    options: dict[str, Any] = {"texts": [str(text)], "threads": [1], "rounds": 1, "sizes": TINY}
    kept: list[Bench] = []
    bench = run_bench([find_any(str(gpt2_like), "")], engines, keep=kept.append, **options)
    assert kept == [bench]
    (report,) = bench.reports
    assert report.same_ids
    assert report.notes == []
    assert report.texts["own.txt"] == {"bytes": 7600, "documents": 4, "tokens": report.texts["own.txt"]["tokens"]}
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
    assert "| first pass, own.txt, 1 thread |" in table
    assert "\u2260" not in table.split("### gpt2_like")[1].split("quarter")[1]


@pytest.mark.parametrize("size", [1, 4096, 8191, 8192, 8193, 16384, 20_001])
def test_a_plain_text_is_cut_without_loss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """A plain text is cut into documents without loss, wherever files, calls, documents and characters end."""
    monkeypatch.setattr(tasks, "BATCH", 8192)
    text = ("caf\u00e9 \u65e5\u672c " * size).encode()[:size].decode(errors="ignore")
    (tmp_path / "t.txt").write_bytes(text.encode())
    batches = list(tasks._batches({"path": str(tmp_path / "t.txt")}))
    assert "".join(doc for docs in batches for doc in docs) == text
    assert all(0 < len(doc.encode()) <= 2048 for docs in batches for doc in docs)
    assert all(sum(len(doc.encode()) for doc in docs) <= 8192 for docs in batches)


def test_texts_of_any_size(gpt2_like: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The scale scenario reads plain files repeatedly: every process gets the same documents, and memory stays
    bounded."""
    monkeypatch.setattr(texts, "ROOTS", ())
    kept = tmp_path / "figures.json"
    options = ["--scale", "0.3", "--text", "code,words", "--engines", "crayon,tokenizers", "--rounds", "1"]
    assert main([str(gpt2_like), *options, "--silent", "--json", str(kept), "--markdown", str(tmp_path / "t.md")]) == 0
    (report,) = Bench.from_json(json.loads(kept.read_text(encoding="utf-8"))).reports
    assert {name: entry["documents"] for name, entry in report.texts.items()} == {
        "code, 0.3 MB": 147,
        "words, 0.3 MB": 147,
    }
    assert all(standing.exact(name) for standing in report.standings.values() for name in report.texts)
    figures = {figure.scenario: figure for figure in report.figures if figure.engine == "crayon"}
    assert len(figures["scale, steady"].rounds) == 3
    if "scale, memory at most" in figures:  # Linux
        assert figures["scale, memory at most"].median >= figures["scale, memory after trim()"].median > 10


def test_wrong_ids_of_ours_are_not_timed(
    gpt2_like: Path, stand_in: ModuleType, text: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [str(gpt2_like), "--text", str(text), "--rounds", "1", "--threads", "1", "--scenario", "first"]
    before = signal.getsignal(signal.SIGTERM)
    assert main([*arguments, "--engines", "crayon", "--ours", "parity_stand_in:wrong_ids", "--silent"]) == 1
    assert signal.getsignal(signal.SIGTERM) is before  # forked children must end on SIGTERM
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
    table = to_markdown([], [report], "")
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
    for internal in ("###", "|"):
        assert internal not in printed
    with pytest.raises(ValueError, match="has no"):
        put_between_marks(kept, "bench", "")
    kept.write_text("{}", encoding="utf-8")
    assert main(["--from", str(kept)]) == 1
    assert "schema" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["no-such-vocabulary"], ["{vocabulary}", "--text", "no-such-text"]])
def test_misuse_is_two(gpt2_like: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    arguments = [argument.format(vocabulary=gpt2_like) for argument in arguments]
    assert main([*arguments, "--scenario", "first", "--silent"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
