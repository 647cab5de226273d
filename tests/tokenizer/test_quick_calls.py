"""The methods of `Tokenizer` in C++, and the Python methods to which they leave unusual arguments, give the results of
``tokenizers``.

No argument, and no change of a tokenizer's attributes, ends the process.
"""

from __future__ import annotations

import ctypes
import sys
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from tokenizers import AddedToken

from crayon_hf import Tokenizer
from tests.support.child import said_by
from tests.support.stand_in_cases import outcome as outcome_of

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
    """The result of a call, and the tokenizer's settings after it."""
    given = outcome_of(partial(getattr(tokenizer, name), *args, **options))
    return given, type(given), tokenizer.truncation, tokenizer.padding


@pytest.mark.parametrize(("name", "args", "options"), CALLS)
def test_a_call_gives_what_that_of_python_gives(
    gpt2_like: Path, name: str, args: tuple[Any, ...], options: dict[str, Any]
) -> None:
    quick, plain = Tokenizer.from_file(gpt2_like), Tokenizer.from_file(gpt2_like)
    reference = tokenizers.Tokenizer.from_file(str(gpt2_like))
    held = plain.decoder  # while a component is borrowed, each call takes the Python path
    found = outcome(quick, name, args, options)
    assert found == outcome(plain, name, args, options)
    assert found == outcome(reference, name, args, options)
    del held


def test_added_tokens_are_the_callers_own(gpt2_like: Path) -> None:
    tokenizer = Tokenizer.from_file(gpt2_like)
    reference = tokenizers.Tokenizer.from_file(str(gpt2_like))
    flags = ("single_word", "lstrip", "normalized", "special")
    tokens = [
        AddedToken(f"<{values}>", **dict(zip(flags, values, strict=True)))
        for values in product((False, True), repeat=len(flags))
    ]
    for one in (tokenizer, reference):
        one.add_tokens(tokens)
    assert tokenizer.get_added_tokens_decoder() == reference.get_added_tokens_decoder()
    for token in tokenizer.get_added_tokens_decoder().values():
        token.special = not token.special
    assert str(tokenizer.get_added_tokens_decoder()) == str(reference.get_added_tokens_decoder())


NO_MEMORY = """
import resource
from crayon_hf import DecodeStream, Tokenizer

tokenizer, stream = Tokenizer.from_profile("lite"), DecodeStream()
arguments = ["a"] * 20_000_000
engine = tokenizer._current_engine()
calls = (Tokenizer.encode, tokenizer), (type(engine).encode_ids, engine), (DecodeStream.step, stream)
for call, first in calls:
    given = first, *arguments
    room = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize() + (64 << 20)
    resource.setrlimit(resource.RLIMIT_AS, (room, resource.RLIM_INFINITY))
    try:
        call(*given)
    except MemoryError as error:
        print(type(error).__name__)
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)
"""


@pytest.mark.skipif(
    sys.platform != "linux" or hasattr(ctypes.CDLL(None), "__asan_init"),
    reason="the system has no /proc, or AddressSanitizer takes terabytes of address space",
)
def test_a_call_that_has_no_memory_for_its_arguments() -> None:
    assert said_by(NO_MEMORY).split() == ["MemoryError"] * 3


class Odd:
    """An id whose first conversion raises."""

    def __init__(self, error: type[BaseException]) -> None:
        self.errors = [error]

    def __index__(self) -> int:
        if self.errors:
            raise self.errors.pop()
        return 5


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, MemoryError, ValueError])
def test_what_an_id_raises_is_raised(gpt2_like: Path, error: type[BaseException]) -> None:
    tokenizer = Tokenizer.from_file(gpt2_like)
    reference = tokenizers.Tokenizer.from_file(str(gpt2_like))
    for one in (reference, tokenizer, tokenizer._current_engine()):
        with pytest.raises(error):
            one.decode([5, Odd(error)])
        with pytest.raises(error):
            one.decode_batch([[5], [5, Odd(error)]])


def test_an_iterator_of_ids_is_read_once(gpt2_like: Path) -> None:
    ours = Tokenizer.from_file(gpt2_like)
    ids = ours.encode("some text").ids
    assert ours.decode(iter([*ids, 10**6])) == ours.decode([*ids, 10**6]) == "some text"
    assert ours.decode(iter(ids)) == "some text"


LOOK_UPS = ("char_to_token", "char_to_word", "token_to_chars", "token_to_sequence", "token_to_word")
LOOK_UPS += ("word_to_chars", "word_to_tokens")


@pytest.mark.parametrize("name", LOOK_UPS)
def test_a_look_up_takes_what_that_of_the_reference_takes(gpt2_like: Path, name: str) -> None:
    place = {"char": "char_pos", "token": "token_index", "word": "word_index"}[name.partition("_")[0]]
    named = ({place: 1}, {place: 0, "sequence_index": 1}, {"sequence_index": 1}, {"other": 1})
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        *((args, {}) for args in ((), (0, 1), (0, 2), (0, -1), (0, "0"), (0, 1, 2))),
        *(((n,), {}) for n in (0, 9, -1, 2**31, 2**32, 2**64, True, 1.0, "0", None)),
        *(((), options) for options in named),
        *(((0,), options) for options in ({place: 0}, {"sequence_index": 1})),
    ]
    encodings = [kind.from_file(str(gpt2_like)).encode("a b", "c d") for kind in (tokenizers.Tokenizer, Tokenizer)]
    for args, options in calls:
        said = [outcome_of(partial(getattr(encoding, name), *args, **options)) for encoding in encodings]
        assert said[0] == said[1], (args, options)
