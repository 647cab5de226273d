"""The calls of `Tokenizer` in C++ answer as those of Python, which they leave all but the usual arguments to."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from tokenizers import AddedToken, normalizers, pre_tokenizers

from crayon_hf import Tokenizer

CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    *(("encode", (text,), {}) for text in ("", "a b", "<|endoftext|>", "é" * 3000, "\ud800", b"a", 1, None, ["a"])),
    *(("encode", ("a b", pair), {}) for pair in (None, "c", "", 1)),
    *(("encode", (["a", "b"], None, split), {}) for split in (True, False, 1)),
    *(("encode", ("a b", None, False, special), {}) for special in (True, False, 1, None)),
    ("encode", ("a b", None, False, True, 1), {}),
    ("encode", ("a b",), {"add_special_tokens": False}),
    ("encode", ("a b",), {"add_special_tokens": 0}),
    ("encode", ("a b",), {"sequence": "a"}),
    ("encode", ("a b",), {"pair": "c"}),
    ("encode", (), {"sequence": "a b", "pair": None, "is_pretokenized": False}),
    ("encode", ("a b",), {"other": 1}),
    ("encode", (), {}),
    *(("decode", (ids,), {}) for ids in ([], [5, 6], (5, 6), [5, 10**6], [2**32], [-1], ["a"], "a", 5, None, [True])),
    *(("decode", (range(5, 900), skip), {}) for skip in (True, False, 1, None)),
    *(("decode", ([5, 6],), {"skip_special_tokens": skip}) for skip in (True, False, 0)),
    ("decode", (), {"ids": [5, 6], "skip_special_tokens": False}),
    ("decode", ([5],), {"ids": [5]}),
    ("decode", ([5],), {"other": 1}),
    ("decode", (), {}),
    *(("id_to_token", (id,), {}) for id in (0, 5, 10**6, 2**31, 2**32 - 1, 2**32, 2**70, -1, True, 1.0, "1", None)),
    ("id_to_token", (), {"id": 5}),
    ("id_to_token", (), {}),
    *(("token_to_id", (token,), {}) for token in ("a", "<|endoftext|>", "none such", "", "é", "\ud800", b"a", 1, None)),
    ("token_to_id", (), {"token": "a"}),
    *(("get_vocab_size", args, {}) for args in ((), (True,), (False,), (1,), (None,))),
    ("get_vocab_size", (), {"with_added_tokens": False}),
    *(("num_special_tokens_to_add", args, {}) for args in ((True,), (False,), (1,), ())),
    ("num_special_tokens_to_add", (), {"is_pair": True}),
    *(("enable_truncation", (n,), {}) for n in (8, 0, 2**31, 2**63, 2**64 - 1, 2**64, -1, True, "8", 8.0, None)),
    *(("enable_truncation", (8,), {"stride": n}) for n in (2, 7, 8, 9, 2**40, -1, True, None)),
    *(("enable_truncation", (8,), {"strategy": s}) for s in ("only_first", "only_second", "longest_first", "x", 1)),
    *(("enable_truncation", (8,), {"direction": s}) for s in ("left", "right", "up", None)),
    ("enable_truncation", (), {"max_length": 4, "stride": 1}),
    ("enable_truncation", (4, 1), {}),
    ("enable_truncation", (4,), {"max_length": 4}),
    ("enable_truncation", (), {}),
    ("enable_truncation", (4,), {"other": 1}),
    ("no_truncation", (), {}),
    ("no_truncation", (1,), {}),
    ("enable_padding", (), {}),
    *(("enable_padding", (), {"length": n}) for n in (0, 16, 2**33, -1, True, "a", 1.5, None)),
    *(("enable_padding", (), {"max_length": n}) for n in (16, None)),
    *(("enable_padding", (), {"pad_to_multiple_of": n}) for n in (8, 0, -1, None)),
    *(("enable_padding", (), {"pad_id": n}) for n in (3, 2**32 - 1, 2**32, -1, None)),
    *(("enable_padding", (), {"pad_type_id": n}) for n in (3, 2**32, None)),
    *(("enable_padding", (), {"pad_token": t}) for t in ("<p>", "é", "", "\ud800", b"", None)),
    *(("enable_padding", (), {"direction": s}) for s in ("left", "right", "up")),
    ("enable_padding", (8,), {}),
    ("enable_padding", (), {"other": 1}),
    ("no_padding", (), {}),
    ("no_padding", (1,), {}),
]


def outcome(tokenizer: Any, name: str, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """What a call gives, and what the tokenizer is then."""
    try:
        given = getattr(tokenizer, name)(*args, **options)
    except Exception as error:
        known = (TypeError, OverflowError, UnicodeEncodeError, ValueError)
        given = next((kind.__name__ for kind in known if isinstance(error, kind)), "Exception")
    kind = type(given)
    if name == "encode" and kind is not str:
        given, kind = (given.ids, given.tokens, given.offsets, given.special_tokens_mask, given.n_sequences), tuple
    return given, kind, tokenizer.truncation, tokenizer.padding


@pytest.mark.parametrize(("name", "args", "options"), CALLS)
def test_a_call_gives_what_that_of_python_gives(
    gpt2_like: Path, name: str, args: tuple[Any, ...], options: dict[str, Any]
) -> None:
    quick, plain = Tokenizer.from_file(gpt2_like), Tokenizer.from_file(gpt2_like)
    reference = tokenizers.Tokenizer.from_file(str(gpt2_like))
    held = plain.decoder  # while somebody has a component no engine is ready: each call goes the way of Python
    found = outcome(quick, name, args, options)
    assert found == outcome(plain, name, args, options)
    assert found == outcome(reference, name, args, options)
    del held


def test_components_are_given_again_and_still_noticed(gpt2_like: Path) -> None:
    tokenizer = Tokenizer.from_file(gpt2_like)
    assert tokenizer.normalizer is None
    first = tokenizer.pre_tokenizer
    assert tokenizer.pre_tokenizer is first
    before = tokenizer.encode("a b").ids
    first.add_prefix_space = not first.add_prefix_space
    changed = tokenizer.encode("a b").ids
    assert changed != before
    del first
    gc.collect()
    assert tokenizer.encode("a b").ids == changed  # nobody holds it any more
    again = tokenizer.pre_tokenizer
    again.add_prefix_space = not again.add_prefix_space
    assert tokenizer.encode("a b").ids == before
    tokenizer.normalizer = normalizers.Lowercase()
    assert isinstance(tokenizer.normalizer, normalizers.Lowercase)
    tokenizer.normalizer = None
    assert tokenizer.normalizer is None


def test_added_tokens_are_the_callers_own(gpt2_like: Path) -> None:
    tokenizer = Tokenizer.from_file(gpt2_like)
    reference = tokenizers.Tokenizer.from_file(str(gpt2_like))
    tokens = [
        AddedToken(
            f"<{single}{left}{normalized}{special}>",
            single_word=single,
            lstrip=left,
            normalized=normalized,
            special=special,
        )
        for single in (False, True)
        for left in (False, True)
        for normalized in (False, True)
        for special in (False, True)
    ]
    for one in (tokenizer, reference):
        one.add_tokens(tokens)
    assert tokenizer.get_added_tokens_decoder() == reference.get_added_tokens_decoder()
    for token in tokenizer.get_added_tokens_decoder().values():
        token.special = not token.special
    assert str(tokenizer.get_added_tokens_decoder()) == str(reference.get_added_tokens_decoder())


def test_a_component_that_was_replaced_is_not_given_again(gpt2_like: Path) -> None:
    tokenizer = Tokenizer.from_file(gpt2_like)
    for _ in range(2):
        assert type(tokenizer.pre_tokenizer).__name__ == "ByteLevel"
        tokenizer.encode("a b")
        tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
        tokenizer.encode("a b")
        assert type(tokenizer.pre_tokenizer).__name__ == "Whitespace"
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    size = len(tokenizer.model.__getstate__())
    tokenizer.encode("a b")
    tokenizer.train_from_iterator(["a b c"], tokenizers.trainers.BpeTrainer(show_progress=False))
    assert len(tokenizer.model.__getstate__()) < size
