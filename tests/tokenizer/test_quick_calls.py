"""The methods of `Tokenizer` in C++, and the Python methods to which they leave unusual arguments, give the results of
``tokenizers``.

No argument, and no change of a tokenizer's attributes, ends the process.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers
from tokenizers import AddedToken

from crayon_hf import Tokenizer
from tests.support.child import said_by
from tests.support.stand_in_cases import outcome as outcome_of

WORDS = np.array(["a", "fox"], dtype=object)
VALUES: list[Any] = [
    *(None, True, False, 0, 1, 2, 5, 7, 8, 9, 16, -1, 1.0, 1.5, 10**6, 2**31, 2**32 - 1, 2**32, 2**33, 2**40, 2**63),
    *(2**64 - 1, 2**64, 2**70, "", "a", "a b", "8", "é", "é" * 3000, "\ud800", "<|endoftext|>", "none such", "<p>"),
    *(b"a", b"", [-1], ["a"], ["a", "b"], [True], range(5, 900), [], [5, 6], (5, 6), [5, 10**6], [2**32]),
    *("left", "right", "up", "only_first", "only_second", "longest_first", {"a": 1}, ("a",), [b"a"], ["ok", 5]),
    *(WORDS, [WORDS], [(WORDS, ["x"])], np.array(["a", "fox"]), np.array([["a"], ["b"]]), [["a", np.str_("b")]]),
    *(np.array([]), np.array([1, 2]), np.int64(1), [np.int64(1)], range(2), (1,), [[5]], [[5, 6], [7]], [[]]),
    *([("a", "b")], [np.array(["a", "b", "c"])], [["a", "b", "c"]], [["a", "b"]], [True, "a"], "ab", ["\ud800"]),
]
METHODS: dict[str, tuple[tuple[Any, ...], str]] = {
    "encode": (("a b",), "sequence pair is_pretokenized add_special_tokens"),
    "decode": (([5, 6],), "ids skip_special_tokens"),
    "id_to_token": ((), "id"),
    "token_to_id": ((), "token"),
    "get_vocab_size": ((), "with_added_tokens"),
    "num_special_tokens_to_add": ((), "is_pair"),
    "enable_truncation": ((8,), "max_length stride strategy direction"),
    "enable_padding": ((), "length max_length pad_to_multiple_of pad_id pad_type_id pad_token direction"),
    "encode_batch": ((["a b"],), "input is_pretokenized add_special_tokens"),
    "decode_batch": (([[5, 6]],), "sequences skip_special_tokens"),
    "add_tokens": ((), "tokens"),
    "from_buffer": ((), "buffer"),
    "post_process": ((), "encoding"),
    "to_str": ((), "pretty"),
    "no_truncation": ((), ""),
    "no_padding": ((), ""),
}
"""The methods in C++ and a few others, each with arguments that it needs and the names of its parameters."""


def calls_of(name: str) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Calls of a method with each value for each argument, and without arguments."""
    needed, parameters = METHODS[name]
    yield (), {}
    for value in VALUES:
        if name in ("decode", "decode_batch", "encode_batch") and repr(value) in ("''", "b''", "b'a'", "[b'a']"):
            continue  # the library reads bytes as ids or as a batch, and refuses only empty text
        yield (value,), {}
        yield (*needed, value), {}
        for parameter in (*parameters.split(), "other"):
            yield needed, {parameter: value}
            yield (), {parameter: value}
    if name == "encode_batch":
        yield from (((batch, True), {}) for batch in ([WORDS], [(WORDS, ["x"])], [[]], [["a", "b"]]))
    if name == "encode":
        yield from (((words, None, split), {}) for words in (["a", "b"], WORDS) for split in (True, False, 1))
        yield from ((("a b", None, False, special), {}) for special in (True, False, 1, None))
        yield ("a b", None, False, True, 1), {}


def outcome(tokenizer: Any, name: str, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """The result of a call, and the tokenizer's settings after it."""
    tokenizer.no_truncation()
    tokenizer.no_padding()
    given = outcome_of(partial(getattr(tokenizer, name), *args, **options))
    return given, type(given), tokenizer.truncation, tokenizer.padding


@pytest.mark.parametrize("name", METHODS)
def test_a_call_gives_what_that_of_python_gives(gpt2_like: Path, name: str) -> None:
    quick, plain = Tokenizer.from_file(gpt2_like), Tokenizer.from_file(gpt2_like)
    reference = tokenizers.Tokenizer.from_file(str(gpt2_like))
    held = plain.decoder  # while a component is borrowed, each call takes the Python path
    for args, options in calls_of(name):
        found = outcome(quick, name, args, options)
        assert found == outcome(plain, name, args, options), (args, options)
        assert found == outcome(reference, name, args, options), (args, options)
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
