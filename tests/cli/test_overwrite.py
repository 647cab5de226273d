"""Commands and functions that write a tokenizer into a directory do not mix its files with another tokenizer's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from crayon_hf import Tokenizer, train_bpe
from crayon_hf.hub import reports
from tests.support.command import call
from tests.support.versions import before_1

CONFIG = {"tokenizer_class": "BertTokenizer", "do_lower_case": True, "unk_token": "[UNK]"}
SETTINGS = ("tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "chat_template.jinja")
VOCABULARIES = (
    *("tokenizer.json", "tokenizer.dat", "vocab.txt", "vocab.json", "tokenizer.model", "tekken.json"),
    "x.tiktoken",
)
MADE = ["tokenizer.dat", "tokenizer.json", "tokenizer_config.json"]


@pytest.fixture
def place(tmp_path: Path, gpt2_like: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with a text, a tokenizer.json, and a model's directory that has another tokenizer and weights."""
    (tmp_path / "text.txt").write_text("low lower lowest\n" * 9)
    (tmp_path / "new.json").write_bytes(gpt2_like.read_bytes())
    other = tmp_path / "other"
    (other / "additional_chat_templates").mkdir(parents=True)
    for name in (*SETTINGS, *VOCABULARIES, "additional_chat_templates/rag.jinja", "config.json", "model.safetensors"):
        (other / name).write_text(json.dumps(CONFIG) if name in ("tokenizer_config.json", "config.json") else "{}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(reports, "RUN", {"strings": 5, "tokens": 0, "texts": ()})
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


WORDPIECE = ["train", "text.txt", "--model", "wordpiece", "-o"]
MARKED = [
    pytest.param(["train", "text.txt", "--vocab-size", "280", "-o"], id="train"),
    pytest.param(["convert", "new.json", "-o"], id="convert"),
    pytest.param(WORDPIECE, id="wordpiece", marks=before_1("trainers")),
]


@pytest.mark.parametrize("command", MARKED)
def test_another_tokenizer_is_replaced_whole_or_stays(place: Path, command: list[str]) -> None:
    before = contents(place / "other")
    done = call(*command, "other")
    (message,) = done.stderr.decode().splitlines()
    assert (done.returncode, done.stdout) == (1, b"")
    assert "added_tokens.json, additional_chat_templates/rag.jinja" in message
    assert "--overwrite (overwrite=True)" in message
    assert contents(place / "other") == before
    assert call(*command, "other", "--overwrite").returncode == 0
    assert call(*command, "fresh").returncode == 0
    made = contents(place / "other")
    assert {name: made.pop(name) for name in ("config.json", "model.safetensors")} == {
        name: before[name] for name in ("config.json", "model.safetensors")
    }
    assert sorted(made) == MADE
    assert made["tokenizer_config.json"] == contents(place / "fresh")["tokenizer_config.json"]
    assert sorted(contents(place / "fresh")) == MADE


@pytest.mark.parametrize("command", MARKED)
@pytest.mark.parametrize("output", ["a.json", "a.dat"])
def test_single_files(place: Path, command: list[str], output: str) -> None:
    if command[0] == "convert":
        Tokenizer.from_profile("lite").save("a.dat")
    else:
        assert call(*command, "a.dat").returncode == 0
    before = contents(place)
    assert "has another tokenizer: choose" in call(*command, output).stderr.decode()
    assert contents(place) == before
    assert call(*command, output, "--overwrite").returncode == 0
    assert call(*command, f"b{output[1:]}").returncode == 0
    after = contents(place)
    assert ("a.dat" in after) == ("b.dat" in after)  # nothing of the previous tokenizer
    assert Tokenizer.from_file(output).get_vocab_size() == Tokenizer.from_file(f"b{output[1:]}").get_vocab_size()


def test_the_same_conversion_again(place: Path) -> None:
    for output in ("made/", "made.dat", "made.json"):
        for _ in range(2):
            assert call("convert", "new.json", "-o", output).returncode == 0
    config = place / "made" / "tokenizer_config.json"
    config.write_text(json.dumps(json.loads(config.read_bytes()) | {"chat_template": "mine"}))
    assert call("convert", "new.json", "-o", "made/").returncode == 0
    assert json.loads(config.read_bytes())["chat_template"] == "mine"  # of the same tokenizer


def test_into_the_directory_of_the_source(place: Path, wordpiece_like: Path) -> None:
    (place / "other" / "tokenizer.json").write_bytes(wordpiece_like.read_bytes())
    assert call("convert", "other/tokenizer.json", "-o", "other/").returncode == 0
    assert json.loads((place / "other" / "tokenizer_config.json").read_bytes())["do_lower_case"] is True
    assert (place / "other" / "vocab.txt").exists()


def test_inputs_are_never_removed(place: Path) -> None:
    """A conversion removes neither its source, nor another tokenizer in the source's directory, nor a file that is not
    a cartridge."""
    (place / "other" / "vocab.txt").write_text("low lower lowest\n" * 9)
    before = contents(place)
    for name in ("vocab.txt", "tokenizer.json"):
        message = call("train", f"other/{name}", "--format", "text", "-o", "other", "--overwrite").stderr.decode()
        assert f"other/{name} is an input" in message
    (place / "corpus").mkdir()
    (place / "corpus" / "merges.txt").write_text("low lower lowest\n" * 9)
    with pytest.raises(ValueError, match=r"merges\.txt is an input of the training"):
        train_bpe("corpus/merges.txt", vocab_size=280, output="corpus", overwrite=True)
    (place / "corpus" / "merges.txt").unlink()
    (place / "corpus").rmdir()
    assert contents(place) == before


def test_files_that_are_no_cartridge(place: Path) -> None:
    (place / "new.dat").write_text("unrelated")
    assert "new.dat: has another tokenizer" in call("convert", "new.json", "-o", "new.dat").stderr.decode()
    assert call("convert", "lite", "-o", "q.json").returncode == 0
    (place / "q.dat").write_text("unrelated")
    assert call("convert", "new.json", "-o", "q.json", "--overwrite").returncode == 0
    assert (place / "q.dat").read_text() == (place / "new.dat").read_text() == "unrelated"
