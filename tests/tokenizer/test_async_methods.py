"""The async methods of `Tokenizer` give the results of the plain methods, with the settings at the time of the call."""

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
    ids = ours.encode(TEXTS[3]).ids
    for name, arguments in (
        ("encode", (TEXTS[3], TEXTS[2])),
        ("encode", (["a", "b"], None, True, False)),
        ("encode_batch", ([*TEXTS, TEXTS[:2]],)),
        ("encode_batch_fast", (list(TEXTS),)),
        ("decode_batch", ([ids], True)),
        ("decode_batch", ([ids], False)),
    ):

        async def awaited(name=name, arguments=arguments):
            return await getattr(ours, f"async_{name}")(*arguments)

        assert plain(asyncio.run(awaited())) == plain(getattr(ours, name)(*arguments))


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
