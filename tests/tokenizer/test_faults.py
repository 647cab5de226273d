"""What must go on working, or fail in one clear sentence, when the surroundings are odd."""

from __future__ import annotations

import pickle
import shutil
import subprocess
import sys

import numpy as np
import pytest

from crayon_hf import DelegatedWarning, Tokenizer

TEXT = "Hello, world! It's 2024 and naïve."


@pytest.mark.parametrize("value", ["-1", "0", "abc", "99999999999999999999", "2x"])
def test_bad_number_of_threads(gpt2_like, monkeypatch, value):
    tokenizer = Tokenizer.from_file(gpt2_like)
    monkeypatch.setenv("CRAYON_NUM_THREADS", value)
    with pytest.raises(ValueError, match="CRAYON_NUM_THREADS"):
        tokenizer.count_tokens([TEXT])
    monkeypatch.setenv("CRAYON_NUM_THREADS", "")  # as good as unset
    assert tokenizer.count_tokens([TEXT]) == [len(tokenizer.encode(TEXT).ids)]


def test_cache_emptied_while_open(gpt2_like, tmp_path, monkeypatch):
    monkeypatch.setenv("CRAYON_CACHE_DIR", str(tmp_path / "cache"))
    tokenizer = Tokenizer.from_file(gpt2_like)
    shutil.rmtree(tmp_path / "cache")
    tokenizer.save(tmp_path / "saved.dat")
    for twin in (Tokenizer.from_file(tmp_path / "saved.dat"), pickle.loads(pickle.dumps(tokenizer))):
        assert twin.encode(TEXT).ids == tokenizer.encode(TEXT).ids


@pytest.fixture
def delegated(refusing, wordpiece_like):
    with pytest.warns(DelegatedWarning):
        return Tokenizer.from_file(wordpiece_like)


def test_delegated_takes_what_native_takes(gpt2_like, delegated):
    texts = np.array(["one", "two words"])
    for tokenizer in (Tokenizer.from_file(gpt2_like), delegated):
        _, splits = tokenizer.encode_ragged(texts)
        assert splits.tolist() == [0, *np.cumsum(tokenizer.count_tokens(texts)).tolist()]
        for wrong in ([1.0], [None], ["1"]):
            with pytest.raises(TypeError):
                tokenizer.decode(wrong)


def test_from_str_wants_a_str():
    with pytest.raises(TypeError, match="expected str"):
        Tokenizer.from_str(None)


def test_deep_json_on_the_command_line(tmp_path):
    command = [sys.executable, "-m", "crayon_hf", "decode"]
    done = subprocess.run(command, input=b"[" * 100_000, capture_output=True, cwd=tmp_path, check=False)
    assert done.returncode == 1
    assert done.stderr.count(b"\n") == 1
    assert b"nested too deeply" in done.stderr


def test_names_of_files_do_nothing_to_a_terminal(tmp_path):
    name = "\x1b[2Ja\nb\udcff.dat"
    command = [sys.executable, "-m", "crayon_hf", "info", "-t", str(tmp_path / name)]
    done = subprocess.run(command, capture_output=True, cwd=tmp_path, check=False)
    assert done.returncode == 1
    assert done.stderr.endswith(b"/\\x1b[2Ja b\\udcff.dat: No such file or directory\n")
    assert done.stderr.count(b"\n") == 1
