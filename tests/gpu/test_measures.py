"""`DeviceEncoder(measure=True)`: what a batch asks of a device, and how long its kernels take."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

from crayon_hf import DeviceOutOfMemoryError, Tokenizer, _core

TEXTS = ["The quick brown fox; it's what they've said, isn't it? 12345", "naïve 日本語", "supercalifragilistic" * 3]


@pytest.fixture(scope="module")
def engine(llama3_like: Any) -> _core.Engine:
    engine = Tokenizer.from_file(llama3_like).__getattribute__("_engine")
    assert isinstance(engine, _core.Engine)
    return engine


def test_nothing_is_measured_unless_asked_for(engine: _core.Engine) -> None:
    report = _core.DeviceEncoder(engine, _core._testing.host_device(1 << 28)).report
    assert {"kernels", "device"} & {*report} == set()


def test_a_batch_is_counted(engine: _core.Engine) -> None:
    encoder = _core.DeviceEncoder(engine, _core._testing.host_device(1 << 28), lanes=1, measure=True)
    upload = encoder.report
    assert upload["kernels"] == {}
    assert upload["device"]["allocated"]["bytes"] >= upload["device"]["most_held"] >= upload["device"]["held"] > 0
    made = encoder.encode_ragged(TEXTS)
    for ours, theirs in zip(made, engine.encode_ragged(TEXTS), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    first = encoder.report
    kernels, device = first["kernels"], first["device"]
    assert {"mark_documents", "boundaries_llama3", "look_up_words", "merge_short", "write_splits"} <= {*kernels}
    assert "match_tiles" not in kernels
    for kernel in kernels.values():
        assert kernel["launches"] == 1
        assert kernel["blocks"] >= 1
        assert 0 <= kernel["seconds"] < 60
    assert sum(kernel["seconds"] for kernel in kernels.values()) > 0
    size = sum(len(text.encode()) for text in TEXTS)
    sent = device["to_device"]["bytes"] - upload["device"]["to_device"]["bytes"]
    offsets = 8 * (len(TEXTS) + 1)
    assert size + offsets <= sent < size + offsets + 1000
    assert device["waits"] > upload["device"]["waits"]
    assert device["allocated_pinned"]["calls"] > 0
    # The same again takes no memory.
    encoder.encode_ragged(TEXTS)
    second = encoder.report
    assert second["device"]["allocated"] == device["allocated"]
    for name in ("mark_documents", "look_up_words", "write_ids"):
        assert second["kernels"][name]["launches"] == 2


def test_other_modes_have_other_kernels(engine: _core.Engine) -> None:
    encoder = _core.DeviceEncoder(engine.greedy(), _core._testing.host_device(1 << 28), measure=True)
    encoder.encode_ragged(TEXTS)
    assert {"match_tiles", "mark_matches"} <= {*encoder.report["kernels"]}


def test_arrays_outlive_what_measures(engine: _core.Engine) -> None:
    """What they release is counted by a device that has to be there yet."""
    encoder = _core.DeviceEncoder(engine, _core._testing.host_device(1 << 28), measure=True)
    ids, _ = encoder.encode_ragged(TEXTS, as_device_arrays=True)
    held = encoder.report["device"]
    del encoder
    gc.collect()
    assert ids.numpy().tolist() == engine.encode_ragged(TEXTS)[0].tolist()
    del ids
    gc.collect()
    assert held["held"] > 0


def test_text_where_others_would_have_it(engine: _core.Engine) -> None:
    """On the device, in pinned memory; and memory that is taken for nothing."""
    device = _core._testing.host_device(1 << 22)
    encoder = _core.DeviceEncoder(engine, _core._testing.host_device(1 << 28))
    data = "".join(TEXTS).encode()
    expected = engine.encode_ragged([data])[0].tolist()
    pinned = _core._testing.pinned(device, len(data))
    pinned[:] = np.frombuffer(data, np.uint8)
    for there in (pinned, _core._testing.on_device(device, data)):
        assert encoder.encode_flat(there, [0, len(data)])[0].tolist() == expected
    free, total = _core._testing.memory(device)
    assert free <= total - len(data) < total == 1 << 22
    del there, pinned
    gc.collect()
    assert _core._testing.memory(device) == (1 << 22, 1 << 22)
    taken = _core._testing.taken(device, 1 << 21)
    assert (len(taken), taken.dtype) == (1 << 21, np.int8)
    assert _core._testing.memory(device)[0] <= 1 << 21
    with pytest.raises(DeviceOutOfMemoryError):
        _core._testing.taken(device, 1 << 22)
