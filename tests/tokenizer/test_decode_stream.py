"""`DecodeStream` decodes ids one by one: its chunks of text are those of `tokenizers.decoders.DecodeStream`."""

from __future__ import annotations

import copy
import inspect
import pickle
import warnings
from itertools import pairwise

import numpy as np
import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import decoders
from tokenizers.decoders import DecodeStream as Reference

from crayon_hf import DelegatedWarning, Tokenizer
from crayon_hf.decode_stream import DecodeStream
from tests.support.stand_in_cases import KINDS, TEXTS, trained
from tests.support.versions import before_1

pytestmark = pytest.mark.filterwarnings("ignore::crayon_hf.DelegatedWarning")


@pytest.fixture(scope="module", params=KINDS)
def pair(request):
    return tokenizers.Tokenizer.from_str(trained(request.param)), Tokenizer.from_str(trained(request.param))


def chunks(stream, tokenizer, ids):
    """The results of the stream's steps for these ids, up to the first step that raises."""
    said = []
    for id in ids:
        try:
            said.append(stream.step(tokenizer, id))
        except Exception:
            return [*said, "refused"]
    return said


@before_1("DecodeStream that would take a tokenizer of the library")
def test_a_tokenizer_of_the_library(pair):
    reference, _ = pair
    for text in TEXTS:
        ids = [*reference.encode(text).ids, reference.get_vocab_size() + 1]
        for prompt in ([], ids[:2]):
            assert chunks(DecodeStream(prompt), reference, ids) == chunks(Reference(prompt), reference, ids)


@before_1("DecodeStream that would take a tokenizer of ours")
def test_the_reference_takes_ours():
    """The library's DecodeStream accepts our tokenizer, with one warning for each tokenizer, and after any number of
    changes."""
    document = trained("byte_level")
    reference, ours = pair = tokenizers.Tokenizer.from_str(document), Tokenizer.from_str(document)
    ids = reference.encode("the quick brown fox déjà vu 🙂").ids
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for skip in (True, False):
            assert chunks(Reference(ids[:2], skip), ours, ids) == chunks(Reference(ids[:2], skip), reference, ids)
        assert [warning.category for warning in caught] == [DelegatedWarning]
        assert caught[0].filename == __file__
        for tokenizer in pair:
            tokenizer.add_tokens(["new thing"])
        added = reference.token_to_id("new thing")
        assert Reference().step(ours, added) == Reference().step(reference, added) == "new thing"
    assert len(caught) == 2
    for wrong in (5, None):
        with pytest.raises(TypeError, match="tokenizer"):
            Reference().step(wrong, 5)


@settings(max_examples=60, deadline=None)
@given(text=st.text(max_size=20), cuts=st.lists(st.integers(0, 30), max_size=4))
def test_steps_of_several_ids(text, cuts):
    reference = tokenizers.Tokenizer.from_str(trained("byte_level"))
    ours = Tokenizer.from_str(trained("byte_level"))
    ids = reference.encode(text).ids
    edges = sorted({0, len(ids), *(cut for cut in cuts if cut < len(ids))})
    steps = [ids[a:b] for a, b in pairwise(edges)]
    said = chunks(DecodeStream(), ours, steps)
    assert said == chunks(Reference(), reference, steps)
    assert "\ufffd" in text or "".join(chunk or "" for chunk in said) == text


def test_a_text_that_changes_is_refused():
    decoder = decoders.Replace("ab", "x")
    reference = tokenizers.Tokenizer.from_str(trained("byte_level"))
    reference.decoder = decoders.Sequence([decoders.Fuse(), decoder])
    ours = Tokenizer.from_tokenizers(reference)
    ids = [reference.token_to_id(letter) for letter in "ab"]
    with pytest.raises(Exception, match="nvalid prefix"):
        Reference(ids[:1]).step(reference, [ids[1], *ids])
    with pytest.raises(ValueError, match="cannot be decoded in a stream"):
        DecodeStream(ids[:1]).step(ours, [ids[1], *ids])


def test_copies_go_their_own_ways(pair):
    _, ours = pair
    for prompt in ([5, 6], []):  # without a prompt, the first chunk can differ from a later one of the same ids
        stream = DecodeStream(prompt)
        twins = [copy.copy(stream), copy.deepcopy(stream)]
        said = [chunks(twin, ours, ours.encode("the fox").ids) for twin in (stream, *twins)]
        assert said[0] == said[1] == said[2]


def test_every_way_of_a_step_goes_on_with_the_same_stream(pair):
    reference, ours = pair
    ids = [id for text in TEXTS for id in reference.encode(text).ids][:40]
    expected = chunks(Reference(), reference, ids)
    ways = [
        lambda stream, id: stream.step(ours, id),
        lambda stream, id: stream.step(ours, [id]),
        lambda stream, id: stream.step(tokenizer=ours, id=id),
        lambda stream, id: stream.step(ours, id=np.int32(id)),
    ]
    held = ours.decoder  # while a component is borrowed, each step asks the state for the engine
    for turn in range(4):
        stream = DecodeStream()
        assert [ways[(at + turn) % 4](stream, id) for at, id in enumerate(ids)] == expected
    del held
    assert stream.begun
    assert not DecodeStream(ids).begun


def test_a_stream_without_init_and_a_stream_in_a_pickle(pair):
    with pytest.raises(TypeError, match="__init__"):
        DecodeStream.__new__(DecodeStream).step(pair[1], 5)
    with pytest.raises(TypeError, match="cannot pickle"):
        pickle.dumps(DecodeStream())
    assert str(inspect.signature(DecodeStream().step)) == "(tokenizer, id)"


def test_arguments(pair):
    reference, ours = pair
    for id in (np.int64(6), np.array([6, 7]), (6,), range(6, 8), [], True, [True]):
        assert DecodeStream().step(ours, id) == Reference().step(reference, id)
    for wrong in (-1, None, "a", 1.0, 2**32, iter([1]), [1.0], ["a"]):
        for stream, tokenizer in ((DecodeStream(), ours), (Reference(), reference)):
            with pytest.raises(TypeError):
                stream.step(tokenizer, wrong)
    for kind in (DecodeStream, Reference):
        for arguments in ({"ids": "a"}, {"ids": 5}, {"skip_special_tokens": 1}):
            with pytest.raises(TypeError):
                kind(**arguments)
        kind(ids=None, skip_special_tokens=None)
    with pytest.raises(TypeError, match=r"crayon_hf\.Tokenizer"):
        DecodeStream().step(object(), 5)
