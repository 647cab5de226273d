"""The benchmark: ids before times, a fresh process for each figure, a table that says what it measured."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from crayon_hf.parity import bench, engines
from crayon_hf.parity.bench import Report, Speed, main, run_bench
from crayon_hf.parity.references import find


@pytest.fixture
def text_file(tmp_path: Path) -> Path:
    path = tmp_path / "own.txt"
    path.write_text("Some plain words, caf\u00e9s and 42 more of them.\n" * 400, encoding="utf-8")
    return path


def test_every_engine_is_measured(gpt2_like: Path, stand_in: ModuleType, text_file: Path) -> None:
    report = run_bench(gpt2_like, texts=[text_file], threads=[1, 2], rounds=1, ours="parity_stand_in:agrees")
    assert report.same_ids
    assert report.notes == []
    size = text_file.stat().st_size
    assert report.texts["own.txt"]["bytes"] == size
    assert report.texts["own.txt"]["documents"] == -(-size // 2048)
    seen = [(speed.engine, speed.call, speed.threads) for speed in report.speeds]
    assert seen == [(*pair, threads) for threads in (1, 2) for pair in engines.CALLS]
    for speed in report.speeds:
        assert len(speed.first) == 1
        assert len(speed.repeated) == bench.REPEATS
        assert min(speed.first + speed.repeated) > 0
        assert speed.resident_mb > 1
    assert set(report.opening_ms) == set(report.short_us) == set(engines.ENGINES)
    table = report.to_markdown()
    assert "| own.txt | 2 | tiktoken | `encode_ordinary_batch` | lists |" in table
    assert "| own.txt | 1 | crayon | `encode_ragged` | arrays |" in table


def test_rounds_are_kept_apart(gpt2_like: Path, stand_in: ModuleType, text_file: Path) -> None:
    options = {"texts": [text_file], "threads": [1], "ours": "parity_stand_in:agrees", "limit": 5000}
    report = run_bench(gpt2_like, ["crayon"], rounds=2, **options)
    assert {speed.engine for speed in report.speeds} == set(report.opening_ms) == {"crayon"}
    assert [len(speed.first) for speed in report.speeds] == [2, 2, 2]
    assert [len(speed.repeated) for speed in report.speeds] == [2 * bench.REPEATS] * 3
    assert 4996 <= report.texts["own.txt"]["bytes"] <= 5000


def test_wrong_ids_are_not_timed(gpt2_like: Path, stand_in: ModuleType, text_file: Path, capsys: Any) -> None:
    arguments = [str(gpt2_like), "--text", str(text_file), "--rounds", "1", "--threads", "1"]
    assert main([*arguments, "--ours", "parity_stand_in:wrong_ids"]) == 1
    printed = capsys.readouterr().out
    assert "crayon `encode_ragged`: not measured: other ids than tokenizers" in printed
    assert "MB/s |" not in printed


def test_another_engine_with_other_ids_is_left_out(template_like: Path, stand_in: ModuleType, tmp_path: Path) -> None:
    text = tmp_path / "special.txt"
    text.write_text("plain [CLS] words " * 20, encoding="utf-8")  # tiktoken reads special tokens as text
    report = run_bench(template_like, texts=[text], threads=[1], rounds=1, ours="parity_stand_in:agrees")
    assert report.same_ids
    assert {speed.engine for speed in report.speeds} == {"crayon", "tokenizers"}
    assert report.notes == [
        f"tiktoken `encode_ordinary_batch`: not measured: other ids than {report.reference} on special.txt"
    ]


def test_an_engine_that_cannot_open_it_says_why(wordpiece_like: Path, stand_in: ModuleType, text_file: Path) -> None:
    report = run_bench(wordpiece_like, texts=[text_file], threads=[1], rounds=0, ours="parity_stand_in:agrees")
    assert report.notes == ["tiktoken: not measured: tiktoken runs BPE only"]
    assert set(report.opening_ms) == {"crayon", "tokenizers"}


def test_tiktoken_of_a_tokenizer_json(gpt2_like: Path, llama3_like: Path) -> None:
    for path in (gpt2_like, llama3_like):
        vocabulary = find(str(path))
        encoding = engines.open_engine("tiktoken", vocabulary)
        reference = vocabulary.open_reference()
        text = "The lazy dog's 12345 caf\u00e9s \u4f60\u597d\n\n  def f(): pass"
        assert encoding.encode_ordinary(text) == reference.encode(text, add_special_tokens=False).ids


def test_digests_tell_documents_apart() -> None:
    one = engines.digest("encode_ordinary_batch", [[1, 2], [3]])
    assert one != engines.digest("encode_ordinary_batch", [[1], [2, 3]])
    assert one == engines.digest("encode_ordinary_batch", [[1, 2], [3]])
    assert one[1] == 3


def test_ratios_are_of_medians() -> None:
    fast = Speed("crayon", "encode_ragged", "arrays", "t", 1, [90.0, 100.0, 500.0], [200.0])
    slow = Speed("tokenizers", "encode_batch", "Encodings", "t", 1, [4.0, 5.0, 6.0], [10.0])
    table = Report("v", "tokenizers 0", [fast, slow]).to_markdown()
    assert "| 100 | 200 |  |  |" in table
    assert "| 5.00 | 10.0 | 20.0 | 20.0 |" in table


@pytest.mark.parametrize("arguments", [["no-such-vocabulary"], ["{vocabulary}", "--text", "no-such-text"]])
def test_misuse_is_two(gpt2_like: Path, capsys: Any, arguments: list[str]) -> None:
    assert main([argument.format(vocabulary=gpt2_like) for argument in arguments]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_process_that_fails_is_reported(gpt2_like: Path, stand_in: ModuleType, text_file: Path, capsys: Any) -> None:
    arguments = [str(gpt2_like), "--text", str(text_file), "--rounds", "1"]
    assert main([*arguments, "--ours", "parity_stand_in:cannot_open"]) == 1
    assert "this vocabulary cannot be opened" in capsys.readouterr().err


def test_ours_is_measured(gpt2_like: Path, text_file: Path, capsys: Any) -> None:
    """The real thing, as JSON."""
    arguments = [str(gpt2_like), "--text", str(text_file), "--rounds", "1", "--threads", "1", "--json"]
    assert main(arguments) == 0
    document = json.loads(capsys.readouterr().out)
    (report,) = document["reports"]
    assert [speed["call"] for speed in report["speeds"] if speed["engine"] == "crayon"] == [
        call for engine, call in engines.CALLS if engine == "crayon"
    ]
    assert report["opening_ms"]["crayon"]["median"] > 0
