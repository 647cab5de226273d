"""A device merges each distinct pretoken once. Repeats, in the same partition of a batch or a later one, take its
ids."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crayon_hf import DeviceError, _core
from tests.support.gpu_devices import GpuDevice, engine_of


@pytest.fixture(scope="module")
def engine(llama3_like: Path) -> _core.Engine:
    return engine_of(llama3_like)


def encoder_of(engine: _core.Engine, device: GpuDevice, **capacity: Any) -> _core.DeviceEncoder:
    return _core.DeviceEncoder(engine, device.open(), lanes=1, **capacity)


def merged(encoder: _core.DeviceEncoder, engine: _core.Engine, texts: list[str]) -> int:
    """Encode texts on the device, and check their ids. Returns the number of pretokens that the device merged."""
    before = int(encoder.report["merged_pretokens"])
    for ours, theirs in zip(encoder.encode_ragged(texts), engine.encode_ragged(texts), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    return int(encoder.report["merged_pretokens"]) - before


def words(count: int, length: int, seed: int) -> list[str]:
    chance = random.Random(seed)
    return ["".join(chance.choices("qxzjkvw", k=length)) for _ in range(count)]


@pytest.mark.parametrize("length", [4, 12, 15, 16, 17, 24, 32, 33, 40, 100, 700])
def test_repeats_are_merged_once(engine: _core.Engine, length: int, device: GpuDevice) -> None:
    """Repeats are merged once for each length of pretokens that has its own merging algorithm. Some pretokens differ
    only in their last byte."""
    some = words(20, length, length)
    some += [word[:-1] + "é"[:1] for word in some]
    texts = [" ".join(some[i:] + some[:i]) for i in range(20)]
    spelled = {text.split(" ")[0] for text in texts} | {" " + word for text in texts for word in text.split(" ")[1:]}
    assert 0 < merged(encoder_of(engine, device), engine, texts) <= len(spelled)


@pytest.mark.parametrize("elements", [1, 300, 5000])
def test_a_cache_that_is_full_is_begun_anew(engine: _core.Engine, elements: int, device: GpuDevice) -> None:
    """New words fill the device's cache in each round, and a full cache is begun anew."""
    encoder = encoder_of(engine, device, elements=elements)
    for seed in range(device.some(12)):
        texts = [" ".join(words(40, 5, seed)) for _ in range(6)]
        assert merged(encoder, engine, texts) > 0


def test_kinds_that_meet_in_the_table(engine: _core.Engine, device: GpuDevice) -> None:
    """A batch has more distinct words than the device's table has slots: words without a slot are merged each time."""
    count = device.some(3000)
    texts = [" ".join(words(count, 9, 5)), "\n".join(words(count, 9, 6))]
    assert merged(encoder_of(engine, device), engine, texts * 2) > count


def test_a_cache_that_could_not_be_cleared(engine: _core.Engine) -> None:
    """If clearing the device's cache fails, the next batch clears it: no ids may come from the old contents."""
    texts = [" ".join(words(200, 3, 1))]
    for number in range(40):
        device = _core._testing.host_device(1 << 30)
        encoder = _core.DeviceEncoder(engine, device, lanes=1)
        _core._testing.fail_on_device(device, "zero", number, "failed")
        try:
            encoder.encode_ragged(texts)
        except DeviceError:
            assert merged(encoder, engine, texts) > 100
            assert merged(encoder, engine, texts) == 0
        else:
            assert number > 5
            return  # the device takes fewer calls
    raise AssertionError("each call failed")
