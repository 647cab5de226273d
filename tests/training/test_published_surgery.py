"""`extend` and `shrink` of published vocabularies and of trained ones, opened by the stock libraries.

CRAYON_SURGERY_STRINGS says on how many strings each vocabulary is compared (default: 250).
"""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest
import tokenizers

import crayon_hf
from crayon_hf import Tokenizer, UnsupportedError, extend, shrink
from crayon_hf.parity.inputs.strings import CATEGORIES, generate
from crayon_hf.tokenizer.resolve import open_tokenizer
from tests.conftest import SENTENCES
from tests.training.surgery_cases import KINDS, vocabulary

pytestmark = pytest.mark.slow

STRINGS = int(os.environ.get("CRAYON_SURGERY_STRINGS", "250"))
DIRECTORIES = ("gpt2", "llama2", "llama3", "qwen", "phi-2", "roberta-base", "whisper-tiny")
FILES = ("mistral-v1/tokenizer.model", "mistral-v3/tokenizer.model", "cl100k_base/cl100k_base.tiktoken")
TRAINED = tuple(f"{kind}-{seed}" for seed in (1, 2) for kind in KINDS)


def inputs(tokenizer: Tokenizer, seed: int) -> list[str]:
    """Return strings of every category, also with the tokenizer's special tokens, and sentences."""
    specials = [token.content for token in tokenizer.get_added_tokens_decoder().values()]
    chance = random.Random(seed)
    words = " ".join(SENTENCES).split(" ")
    categories = [name for name in CATEGORIES if name != "surrogates"]  # tokenizers does not accept surrogates
    made = [text for _, text in generate(STRINGS * 3 // 4, seed, categories, specials)]
    return made + [" ".join(chance.choices(words, k=chance.randrange(1, 9))) for _ in range(STRINGS - len(made))]


def check_stock(folder: Path, ours: Tokenizer, given: list[str]) -> list[list[int]]:
    """Return the ids of `Tokenizer`, after comparing them with those of `tokenizers` and `transformers`."""
    from transformers import AutoTokenizer

    ids = [encoding.ids for encoding in ours.encode_batch(given)]
    stock = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    assert [encoding.ids for encoding in stock.encode_batch_fast(given)] == ids
    reopened = Tokenizer.from_file(folder)
    assert [encoding.ids for encoding in reopened.encode_batch(given)] == ids
    # The class of the transformers tokenizer may cut text differently, also before the change.
    assert AutoTokenizer.from_pretrained(folder)(given).input_ids == (
        crayon_hf.AutoTokenizer.from_pretrained(folder)(given).input_ids
    )
    return ids


@pytest.mark.parametrize("name", [*DIRECTORIES, *FILES, *TRAINED])
def test_extended(name: str, shared: Path, tmp_path: Path) -> None:
    """The extended vocabularies give the same ids here, in `tokenizers` and in `transformers`."""
    kind, _, seed = name.rpartition("-")
    old: Any = vocabulary(kind, int(seed)) if name in TRAINED else shared / "vocab" / name
    change = extend(old, list(SENTENCES), new_tokens=100, output=tmp_path / "new", show_progress=False)
    assert change.new_tokens == 100
    check_stock(tmp_path / "new", change.tokenizer, inputs(change.tokenizer, 1))
    opened = old if name in TRAINED else open_tokenizer(old)
    more, fewer = (sum(map(len, each.encode_batch(list(SENTENCES)))) for each in (opened, change.tokenizer))
    assert fewer <= more


@pytest.mark.parametrize("name", ["gpt2", "llama3", "qwen", "llama2"])
@pytest.mark.parametrize("how", ["vocab_size", "used_by"])
def test_shrunk(name: str, how: str, shared: Path, tmp_path: Path) -> None:
    """Texts without lost tokens get the mapped ids. All texts get the ids of `tokenizers` and `transformers`."""
    path = shared / "vocab" / name
    old = Tokenizer.from_file(path)
    given = inputs(old, 2)
    options: dict[str, Any] = {"used_by": given[::2]} if how == "used_by" else {"vocab_size": old.get_vocab_size() // 2}
    change = shrink(path, output=tmp_path / "new", show_progress=False, **options)
    assert json.loads((tmp_path / "new" / "id_map.json").read_text()) == change.id_map.tolist()
    kept = 0
    new = check_stock(tmp_path / "new", change.tokenizer, given)
    for encoding, ids in zip(old.encode_batch(given), new, strict=True):
        mapped = change.id_map[encoding.ids]
        if (mapped >= 0).all():
            assert ids == mapped.tolist()
            kept += 1
    assert kept >= STRINGS // 4


def test_a_unigram_vocabulary_is_refused(shared: Path, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="Unigram has none"):
        shrink(shared / "vocab" / "t5-small", vocab_size=1000, output=tmp_path / "new")
    with pytest.raises(UnsupportedError, match="Unigram has none"):
        extend(shared / "vocab" / "t5-small", ["text"], new_tokens=9, output=tmp_path / "new")
    assert not os.listdir(tmp_path)
