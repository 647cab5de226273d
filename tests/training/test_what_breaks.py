"""What somebody who tried to break training found."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import crayon_hf
from crayon_hf.cli import main
from crayon_hf.errors import CorpusError
from tests.support.versions import before_1

TEXTS = ["low lower lowest", "new newer newest"] * 3


@pytest.mark.parametrize(
    ("name", "output"), [("data.json", "data.dat"), ("data.json", "data.json"), ("x.dat", "x.json")]
)
def test_no_output_replaces_what_it_is_trained_on(tmp_path: Path, name: str, output: str) -> None:
    source = tmp_path / name
    source.write_text('{"text": "ab ab"}\n', encoding="utf-8")
    with pytest.raises(ValueError, match="is an input of the training"):
        crayon_hf.train_bpe(source, vocab_size=260, output=tmp_path / output)
    assert source.read_text(encoding="utf-8") == '{"text": "ab ab"}\n'
    assert os.listdir(tmp_path) == [name]


def test_nor_does_a_directory(tmp_path: Path) -> None:
    source = tmp_path / "tokenizer.json"
    source.write_text('{"text": "ab ab"}\n', encoding="utf-8")
    with pytest.raises(ValueError, match="is an input of the training"):
        crayon_hf.train_wordpiece([source], output=tmp_path)
    assert os.listdir(tmp_path) == ["tokenizer.json"]


@pytest.mark.parametrize("output", ["h.json", "h.dat"])
def test_an_output_whose_sibling_cannot_be_written_is_found_out_first(tmp_path: Path, output: str) -> None:
    (tmp_path / "h.json").write_text("OLD", encoding="utf-8")
    (tmp_path / "h.dat").mkdir()

    def texts() -> object:
        raise AssertionError("nothing is to be read")
        yield ""

    with pytest.raises(IsADirectoryError):
        crayon_hf.train_bpe(texts(), output=tmp_path / output)  # type: ignore[arg-type]
    assert (tmp_path / "h.json").read_text(encoding="utf-8") == "OLD"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs")
def test_an_output_that_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for output in ("pipe.json", "link"):
        with pytest.raises(OSError, match=r"is not a regular file|Not a directory"):
            crayon_hf.train_bpe(TEXTS, output=tmp_path / output)
    assert not (tmp_path / "nowhere").exists()


def test_a_result_without_cartridge_leaves_no_old_one(tmp_path: Path) -> None:

    output = tmp_path / "t.json"
    crayon_hf.train_bpe(TEXTS, vocab_size=260, output=output)
    assert (tmp_path / "t.dat").exists()
    pattern = crayon_hf.Regex(r"(?<=a)b|(?<x>a)\k<x>")
    with pytest.warns(crayon_hf.DelegatedWarning):
        crayon_hf.train_bpe(TEXTS, vocab_size=260, pattern=pattern, output=output)
    assert os.listdir(tmp_path) == ["t.json"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs")
def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = subprocess.Popen([sys.executable, "-c", f"open({str(pipe)!r}, 'w').write('low lower lowest\\n' * 9)"])
    try:
        tokenizer = crayon_hf.train_bpe(pipe, vocab_size=260, show_progress=False)
    finally:
        writer.wait(60)
    assert tokenizer.get_vocab_size() == 260


def test_special_tokens_from_a_generator_are_not_lost() -> None:
    tokens = (token for token in ["<s>", "</s>"])
    tokenizer = crayon_hf.train_bpe(TEXTS, special_tokens=tokens)  # type: ignore[arg-type]
    assert [tokenizer.token_to_id(token) for token in ("<s>", "</s>")] == [0, 1]


@pytest.mark.slow
def test_a_damaged_arrow_file_is_an_error(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    path = tmp_path / "damaged.arrow"
    table = arrow.table({"text": ["hello world"] * 5000})
    with arrow.OSFile(str(path), "wb") as file, arrow.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    data = bytearray(path.read_bytes())
    first = data.index((11).to_bytes(4, "little") + (22).to_bytes(4, "little"))  # of the offsets
    data[first : first + 4] = (0x7FFFFFFF).to_bytes(4, "little")
    path.write_bytes(data)
    with pytest.raises(CorpusError, match=r"damaged\.arrow"):
        crayon_hf.train_bpe(path)


@pytest.mark.slow
def test_columns_that_are_null_or_twice(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")

    def write(name: str, table: object) -> Path:
        path = tmp_path / name
        with arrow.OSFile(str(path), "wb") as file, arrow.ipc.new_file(file, table.schema) as writer:  # type: ignore[attr-defined]
            writer.write_table(table)
        return path

    nulls = write("nulls.arrow", arrow.table({"text": arrow.nulls(3)}))
    assert crayon_hf.train_bpe(nulls).get_vocab_size() == 256
    twice = arrow.Table.from_arrays([arrow.array(["a"]), arrow.array(["b"])], names=["text", "text"])
    with pytest.raises(CorpusError, match="more than one"):
        crayon_hf.train_bpe(write("twice.arrow", twice))


def test_a_lone_surrogate_in_a_record_names_the_line(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "fine \\ud83d\\ude00"}\n{"text": "x\\ud800"}\n', encoding="utf-8")
    with pytest.raises(CorpusError, match=r"line 2.*surrogate"):
        crayon_hf.train_bpe(path)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"threads": -1}, OverflowError),
        ({"threads": 1.5}, TypeError),
        ({"length": -1}, OverflowError),
        ({"length": "x"}, TypeError),
        ({"format": "x"}, ValueError),
        ({"column": 5}, TypeError),
        ({"show_progress": "x"}, TypeError),
    ],
)
def test_arguments_are_checked(options: dict[str, object], error: type[Exception]) -> None:
    with pytest.raises(error, match=next(iter(options))):
        crayon_hf.train_bpe(TEXTS, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--vocab-size", "99999999999"], 1),
        (["--limit-alphabet", str(1 << 70)], 1),
        (["--threads", str(1 << 70)], 1),
        pytest.param(["--model", "unigram", "--min-frequency", "2"], 2, marks=before_1("UnigramTrainer")),
        (["--model", "unigram", "--vocab-size", "0"], 1),
    ],
)
def test_the_command_says_what_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int
) -> None:
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS), encoding="utf-8")
    assert main(["train", str(corpus), "-o", str(tmp_path / "o.json"), *arguments]) == code
    assert capsys.readouterr().err.startswith("crayon-hf: error: ")
    assert os.listdir(tmp_path) == ["corpus.jsonl"]
