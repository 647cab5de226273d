"""Patterns for lists of texts: both engines find the longest text at each place."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Regex, pre_tokenizers

from crayon_hf import _core
from crayon_hf.formats.literals import any_of

CHARS = "ab<|>[]\\^$.*+?(){}-#& \n\t_é▁我🙂&~"


def expected(texts: list[str], subject: str) -> list[tuple[int, int]]:
    found, at = [], 0
    while at < len(subject):
        length = max((len(text) for text in texts if subject.startswith(text, at)), default=0)
        if length:
            found.append((len(subject[:at].encode()), len(subject[: at + length].encode())))
        at += length or 1
    return found


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text(CHARS, min_size=1, max_size=6), min_size=1, max_size=12), st.data())
def test_the_longest_text_is_found(texts, data):
    subject = "".join(data.draw(st.lists(st.sampled_from([*texts, *CHARS]), max_size=20)))
    pattern = any_of(texts)
    wanted = expected(texts, subject)
    assert _core._testing.regex_find_all(pattern, subject) == wanted
    kept = pre_tokenizers.Split(Regex(pattern), "isolated").pre_tokenize_str(subject)
    ranges = [tuple(len(subject[:place].encode()) for place in offsets) for _, offsets in kept]
    assert set(wanted) <= set(ranges)
