"""The methods that are awaited do what the others do, on the tokenizer as it was when they were called."""

from __future__ import annotations

import asyncio

import pytest
import tokenizers

from crayon_hf import Tokenizer
from tests.support.stand_in_cases import TEXTS, plain, trained

pytestmark = [pytest.mark.concurrency, pytest.mark.filterwarnings("ignore::crayon_hf.DelegatedWarning")]


@pytest.fixture(params=["byte_level", "unigram"])
def ours(request):
    return Tokenizer.from_str(trained(request.param))


def test_results(ours):
    async def everything():
        batch = [*TEXTS, TEXTS[:2]]
        ids = ours.encode(TEXTS[3]).ids
        assert plain(await ours.async_encode(TEXTS[3], TEXTS[2])) == plain(ours.encode(TEXTS[3], TEXTS[2]))
        assert plain(await ours.async_encode(["a", "b"], None, True, False)) == plain(
            ours.encode(["a", "b"], None, True, False)
        )
        assert plain(await ours.async_encode_batch(batch)) == plain(ours.encode_batch(batch))
        assert plain(await ours.async_encode_batch_fast(batch)) == plain(ours.encode_batch_fast(batch))
        for skip in (True, False):
            assert await ours.async_decode_batch([ids], skip) == ours.decode_batch([ids], skip)
        many = await asyncio.gather(*(ours.async_encode(text) for text in TEXTS))
        assert plain(many) == plain([ours.encode(text) for text in TEXTS])

    asyncio.run(everything())


def test_as_it_was_when_called(ours):
    async def everything():
        before = plain(ours.encode(TEXTS[3]))
        later = ours.async_encode(TEXTS[3])
        ours.enable_truncation(3)
        ours.normalizer = None
        ours.add_tokens(["fox"])
        assert plain(await later) == before

    asyncio.run(everything())


def test_errors(ours):
    async def everything():
        with pytest.raises(TypeError):
            await ours.async_encode(5)
        with pytest.raises(TypeError):
            await ours.async_encode_batch(["a", 5])
        with pytest.raises(OverflowError):
            await ours.async_decode_batch([[10**10]])

    asyncio.run(everything())
    reference = tokenizers.Tokenizer.from_str(trained("byte_level"))
    for tokenizer in (ours, reference):
        with pytest.raises(RuntimeError, match="event loop"):
            tokenizer.async_encode("a")
