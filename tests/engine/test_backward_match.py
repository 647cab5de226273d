"""Backward matching: a walk from the end of a text finds the longest key at each position in linear time. The engine
uses it for added tokens."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken

from crayon_hf import _core
from tests.engine.test_added_tokens import COMBINATIONS, Maker, check_all, gpt2_split, with_tokens
from tests.support import reference_impl
from tests.support.cartridge_cases import child

cpu = reference_impl.cpu

Found = list[tuple[int, int]]


@pytest.fixture(scope="module")
def both_with(cpu: str) -> Maker:
    return Maker()


def longest(keys: list[bytes], text: bytes, start: int, stop: int) -> Found:
    """The definition: (length, index) of the longest key at each position from `start` to `stop`."""
    return [
        max(((len(key), value) for value, key in enumerate(keys) if text.startswith(key, at)), default=(0, -1))
        for at in range(start, stop)
    ]


def found(keys: list[bytes], text: bytes, start: int, stop: int) -> Found:
    numbered = sorted((key, value) for value, key in enumerate(keys))
    return _core._testing.match_backwards(*_core.build_double_array(numbered), text, start, stop)


@given(
    st.lists(st.text("ab", min_size=1, max_size=9), min_size=1, max_size=12, unique=True),
    st.lists(st.text("ab", max_size=12) | st.text("abc", max_size=4), max_size=8),
    st.integers(0, 60),
    st.integers(0, 60),
)
def test_any_keys(keys: list[str], parts: list[str], start: int, size: int) -> None:
    spelled, text = [key.encode() for key in keys], "".join(parts).encode()
    start = min(start, len(text))
    stop = min(start + size, len(text))
    assert found(spelled, text, start, stop) == longest(spelled, text, start, stop)


# -- added tokens, long enough for backward matching


@pytest.mark.parametrize("shift", range(3))
def test_contents_of_many_kinds(both_with: Maker, shift: int) -> None:
    """Added tokens that are prefixes and suffixes of each other. Some have conditions that fail, some take white
    space."""
    contents = ["a" * size for size in range(1, 40)] + ["a" * size + "b" for size in range(1, 60, 7)]
    contents += [" " * size + "a" for size in range(1, 20, 3)] + ["b" + "a" * 50]
    kinds: list[dict[str, Any]] = (COMBINATIONS[shift * 11 :] + COMBINATIONS) * 3
    both = both_with([AddedToken(content, **kind) for content, kind in zip(contents, kinds, strict=False)])
    text = "".join(
        "a" * size + "b " + " " * (size % 13) + "_" * (size % 2) for size in (90, 3, 41, 77, 12, 60, 59, 200)
    )
    check_all(both, text)


HOSTILE = {
    "one": ["a" * 200_000 + "b"],
    "normalized": ["a" * 200_000 + "b"],
    "prefixes": [*("a" * size for size in range(2, 200)), "a" * 200_000 + "b"],
}
CHILD = """
import resource, sys
from crayon_hf import _core
engine = _core.Engine.from_bytes(sys.stdin.buffer.read())
used = int(resource.getrusage(resource.RUSAGE_SELF).ru_utime)
resource.setrlimit(resource.RLIMIT_CPU, (used + 20, used + 20))
print(len(engine.encode_ids("a" * 4_000_000)))
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_time_is_linear(name: str) -> None:
    """Searching from each position would take hours; the process that encodes is killed after seconds."""
    pytest.importorskip("resource")
    document = with_tokens([AddedToken(content, normalized=name == "normalized") for content in HOSTILE[name]])
    done = child(CHILD, lines=_core.compile_tokenizer_json(document.encode()))
    assert done.returncode == 0, done.stderr
    expected = -(-4_000_000 // 199) if name == "prefixes" else 4_000_000
    assert int(done.stdout) == expected


CUT = """
import resource, sys
from crayon_hf import _core
engine = _core.Engine.from_bytes(sys.stdin.buffer.read())
used = int(resource.getrusage(resource.RUSAGE_SELF).ru_utime)
resource.setrlimit(resource.RLIMIT_CPU, (used + 20, used + 20))
text = (" a" * 2_000 + " c") * 400
ids, _ = engine.encode_ragged([text])
assert ids.tolist() == engine.encode_ids(text)
print(len(ids))
"""


def test_time_to_find_where_a_long_text_can_be_cut_is_linear() -> None:
    """The text cannot be cut between its words: at each word an added token may continue, and another added token
    matches for long before it fails."""
    pytest.importorskip("resource")
    tokens = [AddedToken(content, normalized=False) for content in (" a" * 4_000 + "b", "a b", " a d", "c b")]
    document = with_tokens(tokens, pre_tokenizer=gpt2_split())
    done = child(CUT, lines=_core.compile_tokenizer_json(document.encode()))
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == 400 * 2_002
