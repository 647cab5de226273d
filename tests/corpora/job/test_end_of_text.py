"""The end-of-text token after each document: the user names it, or a file beside the tokenizer.json does, or it has a
known name."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from crayon_hf import JobError, Tokenizer
from crayon_hf.corpora.job.end_of_text import find_eos


def test_a_known_name(gpt2_like: Path, roberta_like: Path) -> None:
    for path, token in ((gpt2_like, "<|endoftext|>"), (roberta_like, "</s>")):
        tokenizer = Tokenizer.from_file(path)
        assert find_eos(tokenizer, None, None) == tokenizer.token_to_id(token)


def test_none_and_too_many(template_like: Path) -> None:
    tokenizer = Tokenizer.from_file(template_like)
    with pytest.raises(JobError, match="token is unknown"):
        find_eos(tokenizer, None, None)
    tokenizer.add_special_tokens(["</s>", "<eos>"])
    with pytest.raises(JobError, match="</s> and <eos>"):
        find_eos(tokenizer, None, None)
    assert find_eos(tokenizer, None, "<eos>") == tokenizer.token_to_id("<eos>")
    with pytest.raises(JobError, match="no token '<end>'"):
        find_eos(tokenizer, None, "<end>")


@pytest.mark.parametrize("file", ["tokenizer_config.json", "special_tokens_map.json"])
@pytest.mark.parametrize("value", ["<|im_end|>", {"content": "<|im_end|>", "lstrip": False}])
@pytest.mark.parametrize("named", ["directory", "file"])
def test_what_is_said_beside_it(qwen_like: Path, tmp_path: Path, file: str, value: Any, named: str) -> None:
    shutil.copy(qwen_like, tmp_path / "tokenizer.json")
    (tmp_path / file).write_text(json.dumps({"eos_token": value}))
    name = tmp_path if named == "directory" else tmp_path / "tokenizer.json"
    tokenizer = Tokenizer.from_file(tmp_path / "tokenizer.json")
    assert find_eos(tokenizer, str(name), None) == tokenizer.token_to_id("<|im_end|>")
    assert find_eos(tokenizer, str(name), "<|im_start|>") == tokenizer.token_to_id("<|im_start|>")
    (tmp_path / file).write_text(json.dumps({"eos_token": "<gone>"}))
    with pytest.raises(JobError, match=r"'<gone>' \(named as eos_token"):
        find_eos(tokenizer, str(name), None)
    (tmp_path / file).write_text("[1, 2")
    assert find_eos(tokenizer, str(name), None) == tokenizer.token_to_id("<|endoftext|>")
