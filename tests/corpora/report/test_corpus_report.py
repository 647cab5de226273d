"""Reports of the directories that jobs wrote in every format: their counts equal plain counts."""

from __future__ import annotations

import collections
import json
import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers

import crayon_hf
from crayon_hf import JobError
from crayon_hf.cli import main
from crayon_hf.corpora.report import shards as reading
from crayon_hf.corpora.report.measuring import make_report
from crayon_hf.util.scripts import COMMON, INHERITED, SCRIPTS, UNKNOWN, shares
from tests.corpora.job import job_cases
from tests.corpora.job.job_cases import ALL_FORMATS, FORMAT_CASES, documents_of, reference_ids, write_jsonl

MORE = ["Привет, мир! 123", "漢字とかな", "한국어 e\u0301", "<b>&amp;</b> \u202e\u0000", "x " * 3000]


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return [*documents_of(120, 3), *MORE]


@pytest.fixture(scope="module")
def inputs(texts: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("inputs")
    write_jsonl(directory / "0.jsonl", texts[:60])
    write_jsonl(directory / "1.jsonl", texts[60:])
    with open(directory / "1.jsonl", "a") as file:
        file.write("{oops\n" + json.dumps({"id": 1}) + "\n" + json.dumps({"id": 2}) + "\n")
    return directory


def job(inputs: Path, output: Path, tokenizer: Path, format: str, **options: Any) -> Path:
    job_cases.job(inputs, output, tokenizer, format, **{"group_bytes": 6000, "bad_records": "skip", **options})
    return output


@pytest.mark.parametrize("format", FORMAT_CASES)
def test_every_format(
    format: str,
    inputs: Path,
    texts: list[str],
    gpt2_like: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reading, "_TOKENS", 97)
    out = job(inputs, tmp_path / "out", gpt2_like, format, max_tokens_per_shard=500)
    report = make_report(out)
    rows = reference_ids(gpt2_like, texts)
    lengths = sorted(map(len, rows))
    assert report.counts["documents"] == len(texts)
    assert report.counts["tokens"] == report.tokens == sum(lengths)
    assert report.bytes_per_token == sum(len(text.encode()) for text in texts) / sum(lengths)
    of = report.lengths
    assert of is not None
    assert (of.of, of.count, of.least, of.most) == ("documents", len(rows), 0, lengths[-1])
    assert of.mean == pytest.approx(np.mean(lengths))
    for part, said in ((0.5, of.median), (0.9, of.percentile_90), (0.99, of.percentile_99)):
        assert sum(length <= said for length in lengths) >= part * len(lengths)
        assert sum(length < said for length in lengths) < part * len(lengths)
    for each in of.histogram:
        assert each.count == sum(each.least <= length <= each.most for length in lengths)
    assert sum(each.count for each in of.histogram) == len(rows)
    counts = collections.Counter(id for row in rows for id in row)
    assert [(each.id, each.count) for each in report.frequent] == sorted(
        counts.items(), key=lambda each: (-each[1], each[0])
    )[:100]
    vocab = tokenizers.Tokenizer.from_file(str(gpt2_like)).get_vocab()
    assert report.vocabulary == len(vocab)
    assert set(report.never_used) == set(vocab.values()) - set(counts)
    assert list(report.bad_reasons.values()) == [2, 1]
    assert next(iter(report.bad_reasons)).startswith("has no 'text'")
    assert sum(report.scripts.values()) == sum(map(len, texts))
    assert report.scripts[INHERITED] > 0
    assert any(f"{len(report.scripts) - 2} other scripts" in line for line in report.lines(2))


@pytest.mark.parametrize("packing", ["concat", "best-fit"])
@pytest.mark.parametrize("format", FORMAT_CASES)
def test_packed(format: str, packing: str, inputs: Path, gpt2_like: Path, tmp_path: Path) -> None:
    """A report of packed files counts every token in them, even padding."""
    out = job(
        inputs, tmp_path / "out", gpt2_like, format, append_eos=True, sequence_length=32, packing=packing,
        remainder="pad",
    )  # fmt: skip
    report = make_report(out)
    assert report.sequences is not None
    assert report.lengths is not None
    assert report.tokens == 32 * report.sequences["sequences"]
    assert report.sequences["tokens"] - report.sequences["padding"] == report.counts["tokens"]
    assert report.lengths.of == ("sequences" if format in ("megatron", "mds") else "pieces")
    assert report.lengths.most == 32
    assert round(report.lengths.mean * report.lengths.count) == report.tokens
    assert f"{report.sequences['sequences']} of 32 tokens" in "\n".join(report.lines())


def test_scripts_are_unicodes() -> None:
    """No two scripts share a code point."""
    counts = np.zeros(0x110000, np.int64)
    counts[:0x3100] = 1
    found = shares(counts)
    assert sum(found.values()) == 0x3100
    assigned = sum(unicodedata.category(chr(code)) not in ("Cn", "Co", "Cs") for code in range(0x3100))
    assert found.get(UNKNOWN, 0) <= 0x3100 - assigned  # the engine's Unicode may be newer than Python's
    assert found["Greek"] > 300
    assert found[COMMON] > 1000
    assert len(SCRIPTS) == len(set(SCRIPTS)) == 168
    for char, script in (("a", "Latin"), ("\u4e2d", "Han"), ("\u0967", "Devanagari"), ("\U0010ffff", UNKNOWN)):
        counts = np.zeros(0x110000, np.int64)
        counts[ord(char)] = 5
        assert shares(counts) == {script: 5}


def test_without_the_tokenizer(inputs: Path, gpt2_like: Path, llama3_like: Path, tmp_path: Path) -> None:
    """If the job's tokenizer is gone, or its path has another tokenizer, the report has the same counts but no sample
    texts."""
    mine = tmp_path / "mine.json"
    mine.write_bytes(gpt2_like.read_bytes())
    out = job(inputs, tmp_path / "out", mine, "npy")
    whole = make_report(out)
    mine.unlink()
    bare = make_report(out)
    assert (bare.tokens, bare.lengths, bare.counts) == (whole.tokens, whole.lengths, whole.counts)
    assert [(each.id, each.count, each.text) for each in bare.frequent] == [
        (each.id, each.count, None) for each in whole.frequent
    ]
    assert bare.scripts is None
    assert bare.vocabulary <= whole.vocabulary
    assert bare.lines()
    opened = crayon_hf.Tokenizer.from_file(gpt2_like)
    assert make_report(out, opened) == make_report(out, str(gpt2_like)) == whole
    with pytest.raises(JobError, match="was made with another tokenizer"):
        make_report(out, str(llama3_like))
    mine.write_bytes(llama3_like.read_bytes())
    assert make_report(out) == bare  # another tokenizer has the name now


@pytest.mark.slow
def test_what_is_no_finished_directory(inputs: Path, gpt2_like: Path, tmp_path: Path) -> None:
    with pytest.raises(JobError, match=r"has no manifest.json: give the directory"):
        make_report(tmp_path)
    with pytest.raises(JobError, match=r"has no manifest.json"):
        make_report(tmp_path / "nothing")
    for format in ALL_FORMATS:
        out = job(inputs, tmp_path / format, gpt2_like, format)
        manifest = json.loads((out / "manifest.json").read_bytes())
        files = [file["name"] for shard in manifest["tasks"][0]["shards"] for file in shard["files"]]
        for name in files:
            data = (out / name).read_bytes()
            (out / name).write_bytes(data[:-1])
            with pytest.raises(JobError, match="is missing or has changed"):
                make_report(out)
            (out / name).write_bytes(bytes(len(data)))  # as long, all zeros
            if not name.endswith((".bin", ".ds", ".metadata")):  # in these, any bytes are valid tokens
                with pytest.raises(JobError):
                    make_report(out)
            (out / name).write_bytes(data)
        make_report(out)


@pytest.mark.slow
def test_command(inputs: Path, gpt2_like: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out = job(inputs, tmp_path / "out", gpt2_like, "parquet")
    assert main(["corpus-report", str(out), "--json", "-", "-t", str(gpt2_like)]) == 0
    printed = capfd.readouterr().out
    found = json.loads(printed)
    assert (found["schema"], found["counts"]["bad_records"]) == ("crayon-hf/corpus-report/1", 3)
    assert main(["corpus-report", str(out), "--json", str(tmp_path / "a.json")]) == 0
    assert "documents: 125" in capfd.readouterr().out
    assert (tmp_path / "a.json").read_text("utf-8") == printed
    assert main(["corpus-report", str(out), "--json", str(tmp_path / "nowhere" / "a.json")]) == 2
    assert main(["corpus-report", str(tmp_path / "nothing")]) == 1
