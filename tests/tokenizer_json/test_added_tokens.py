"""Adding and saving many tokens takes few Python steps, and gives the library's results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

from crayon_hf import Tokenizer
from tests.support.steps import steps_of

MANY = 3000
CONTENTS = st.sampled_from(["", "a", "b", "<x>", "<e>", '"\\\n\x00\x1f\x7f']) | st.text(max_size=5)
TOKENS = st.builds(
    lambda content, flags: tokenizers.AddedToken(content, **dict(zip(FLAGS, flags, strict=True))),
    CONTENTS,
    st.tuples(*[st.booleans()] * 5),
)
FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")
VOCABULARIES = ({"a": 1, "<x>": 0, "é": 2}, {"<x>": 0, "a": 1, "<e>": 50, "é": 90})  # without holes, and with some
MODELS = [json.dumps({"model": {"type": "WordLevel", "vocab": vocab, "unk_token": "a"}}) for vocab in VOCABULARIES]


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(MODELS),
    st.lists(st.tuples(st.booleans(), st.lists(TOKENS | CONTENTS, max_size=6)), max_size=4),
    st.booleans(),
)
def test_tokens_are_added_and_written_as_the_library_does(
    model: str, batches: list[tuple[bool, list[Any]]], pretty: bool
) -> None:
    ours, reference = Tokenizer.from_str(model), tokenizers.Tokenizer.from_str(model)
    for special, batch in batches:
        added = [(one.add_special_tokens if special else one.add_tokens)(batch) for one in (ours, reference)]
        assert added[0] == added[1]
        assert ours.get_vocab() == reference.get_vocab()
    assert ours.to_str(pretty) == reference.to_str(pretty)


@pytest.mark.parametrize("pretty", [False, True])
def test_many_tokens_are_saved_as_the_library_saves_them(gpt2_like: Path, tmp_path: Path, pretty: bool) -> None:
    contents = [f'<"added_tokens"\\{chr(0x100 + i)}{i}>' for i in range(MANY)]
    ours, reference = Tokenizer.from_file(str(gpt2_like)), tokenizers.Tokenizer.from_file(str(gpt2_like))
    for one in (ours, reference):
        one.enable_padding(pad_token='"added_tokens":null, "added_tokens": null')
        one.add_special_tokens(["<first>", "the"])
        assert one.add_tokens([*contents, tokenizers.AddedToken("<last>", lstrip=True)]) == MANY + 1
    assert ours.to_str(pretty) == reference.to_str(pretty)
    ours.save(tmp_path / "ours.json", pretty)
    reference.save(str(tmp_path / "stock.json"), pretty)
    assert (tmp_path / "ours.json").read_bytes() == (tmp_path / "stock.json").read_bytes()
    assert ours.encode(f"{contents[7]} <last>").ids == reference.encode(f"{contents[7]} <last>").ids


@pytest.mark.parametrize("pretty", [False, True])
def test_no_step_for_each_token(gpt2_like: Path, tmp_path: Path, pretty: bool) -> None:
    tokenizer = Tokenizer.from_file(str(gpt2_like))
    # Two steps for a Token, and two for its id.
    assert steps_of(lambda: tokenizer.add_tokens([f"<{i}>" for i in range(MANY)])) < 5 * MANY
    tokenizer.to_str()  # finishes its imports
    assert steps_of(lambda: tokenizer.save(tmp_path / "a.json", pretty)) < MANY
    assert steps_of(lambda: tokenizer.to_str(pretty)) < MANY
