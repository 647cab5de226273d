"""Makes the same ``Encoding`` in the engine and in ``tokenizers``, from the JSON that it pickles as, and compares them.

Here a state is that JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import tokenizers
from hypothesis import strategies as st

from crayon_hf import _core

State = dict[str, Any]

STRINGS = ["a", "\u0120a", " ", "\u0120", "\u3000x ", "[PAD]", "", '"\\\n\x00', "\U0001f642", "\u0120\u0120b\u0120"]


def ours(state: State) -> _core.Encoding:
    encoding = _core.Encoding()
    encoding.__setstate__(json.dumps(state).encode())
    return encoding


def reference(state: State) -> tokenizers.Encoding:
    encoding = tokenizers.Encoding()
    encoding.__setstate__(json.dumps(state).encode())
    return encoding


def state_of(encoding: Any) -> State:
    """The JSON that an encoding pickles as."""
    state: State = json.loads(encoding.__getstate__())
    return state


@st.composite
def states(draw: st.DrawFn, *, size: int = 8, depth: int = 1) -> State:
    """Random states that encodings can have. `size` is the greatest number of tokens; `depth` limits overflow inside
    overflow."""
    n = draw(st.integers(0, size))

    def rows(element: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(element, min_size=n, max_size=n))

    ranges = {}
    for sequence in draw(st.lists(st.sampled_from([0, 1, 2, 7]), max_size=2, unique=True)):
        start = draw(st.integers(0, n))
        ranges[str(sequence)] = {"start": start, "end": draw(st.integers(start, n))}
    offsets = [[start, start + length] for start, length in rows(st.tuples(st.integers(0, 9), st.integers(0, 4)))]
    return {
        "ids": rows(st.sampled_from([0, 1, 2, 3, 2**31, 2**32 - 1])),
        "type_ids": rows(st.integers(0, 2)),
        "tokens": rows(st.sampled_from(STRINGS)),
        "words": rows(st.none() | st.integers(0, 5)),
        "offsets": offsets,
        "special_tokens_mask": rows(st.integers(0, 1)),
        "attention_mask": rows(st.integers(0, 1)),
        "overflowing": draw(st.lists(states(size=3, depth=depth - 1), max_size=2)) if depth > 0 else [],
        "sequence_ranges": ranges,
    }


def plain_state(n: int, overflowing: list[State] | None = None) -> State:
    """The state of an encoding of ``n`` one-character tokens."""
    return {
        "ids": list(range(n)),
        "type_ids": [0] * n,
        "tokens": [f"t{i}" for i in range(n)],
        "words": list(range(n)),
        "offsets": [[2 * i, 2 * i + 1] for i in range(n)],
        "special_tokens_mask": [0] * n,
        "attention_mask": [1] * n,
        "overflowing": overflowing or [],
        "sequence_ranges": {},
    }


def outcome(call: Callable[[], Any]) -> Any:
    """Return the class of a call's exception, or None. A panic of the reference counts as our ValueError."""
    try:
        call()
    except Exception as error:
        return ValueError if type(error) is Exception else type(error)
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        return ValueError
    return None


def assert_same_outcome(call: Callable[[], Any], reference_call: Callable[[], Any], what: str) -> bool:
    """Check that both calls raise errors of one kind, or that neither raises. Returns True if neither raises."""
    wanted = outcome(reference_call)
    if wanted is None:
        call()
        return True
    with pytest.raises(wanted):
        call()
    assert what  # shown in the traceback
    return False
