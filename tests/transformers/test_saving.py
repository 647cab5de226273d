"""Saved cartridges, pickled classes and batches, against transformers."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path
from typing import Any

from transformers import AutoTokenizer

import crayon_hf
from tests.transformers.comparing import plain

TEXT = "The quick brown <pad> fox </s> [SEP] déjà vu"


def files(directory: Path) -> dict[str, Any]:
    """The files of a directory by name: JSON files parsed, others as text."""
    found: dict[str, Any] = {}
    for path in sorted(directory.iterdir()):
        if path.suffix == ".json":
            found[path.name] = json.loads(path.read_text(encoding="utf-8"), parse_float=_rounded)
        else:
            found[path.name] = path.read_text(encoding="utf-8")
    return found


def _rounded(number: str) -> str:
    """Round a number, since the reference reads the scores of a Unigram model with an error in the last place."""
    return f"{float(number):.12g}"


def test_a_cartridge_that_is_there_is_made_anew(pair: tuple[Any, Any], tmp_path: Path) -> None:
    _, ours = pair
    for prefix in ("", "mine-"):
        ours.backend_tokenizer.save(tmp_path / f"{prefix}tokenizer.dat")
    ours.add_tokens(["quick"])
    for prefix in ("", "mine-"):
        names = ours.save_pretrained(tmp_path, filename_prefix=prefix[:-1] or None)
        cartridge = tmp_path / f"{prefix}tokenizer.dat"
        assert names[-1] == str(cartridge)
        assert crayon_hf.Tokenizer.from_file(cartridge).encode(TEXT).ids == ours.backend_tokenizer.encode(TEXT).ids


def cached(tokenizer: Any) -> Any:
    """A tokenizer as servers wrap it: its class is derived at run time, and it pickles as a function call."""

    class Cached(type(tokenizer)):  # type: ignore[misc]
        def __len__(self) -> int:
            return length

        def __reduce__(self) -> Any:
            return cached, (tokenizer,)

    length = len(tokenizer)
    twin = copy.copy(tokenizer)
    twin.__class__ = Cached
    return twin


def test_subclasses_say_how_they_are_pickled(pair: tuple[Any, Any]) -> None:
    for tokenizer in pair:
        for twin in (pickle.loads(pickle.dumps(cached(tokenizer))), copy.deepcopy(cached(tokenizer))):
            assert type(twin).__qualname__ == "cached.<locals>.Cached"
            assert plain(twin(TEXT)) == plain(tokenizer(TEXT))


def test_pickled_batches(pair: tuple[Any, Any]) -> None:
    stock, ours = pair
    for arguments in ({}, {"padding": True, "return_tensors": "np"}):
        batch = pickle.loads(pickle.dumps(ours([TEXT, "a"], **arguments)))
        expected = stock([TEXT, "a"], **arguments)
        assert plain(dict(batch)) == plain(dict(expected))
        assert [one.tokens for one in batch.encodings] == [one.tokens for one in expected.encodings]
        assert plain(dict(copy.deepcopy(ours([TEXT, "a"], **arguments)))) == plain(dict(expected))


def test_target_mode_classes(tmp_path: Path, repositories: dict[str, Path]) -> None:
    """Classes that switch the post-processor for targets (NLLB) do not use the fast paths."""
    config = json.loads((repositories["t5"] / "tokenizer_config.json").read_text())
    kept = {key: config[key] for key in ("eos_token", "unk_token", "pad_token")}
    kept.update(tokenizer_class="MBart50Tokenizer", src_lang="en_XX", tgt_lang="ro_RO")
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(kept))
    (tmp_path / "tokenizer.json").write_bytes((repositories["t5"] / "tokenizer.json").read_bytes())
    stock = AutoTokenizer.from_pretrained(tmp_path)
    ours = crayon_hf.AutoTokenizer.from_pretrained(tmp_path)
    assert not ours._crayon_plain_calls
    for arguments in ({"text": TEXT}, {"text": TEXT, "text_target": TEXT}, {"text_target": [TEXT, "a"]}):
        assert plain(ours(**arguments)) == plain(stock(**arguments))
