"""`_core.DeviceEncoder` and its memory on a device.

Tests that run kernels use every available device. Tests of refused arguments and of exhausted memory use the CPU
device.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from crayon_hf import DeviceError, DeviceLostError, DeviceOutOfMemoryError, InvalidUtf8Error, UnsupportedError, _core
from tests.support import reference_impl
from tests.support.gpu_devices import HOST, GpuDevice, engine_of

TEXTS = [
    "The quick brown fox; it's what they've said, isn't it? 12345",
    "",
    "naïve e\u0301 日本語 🙂🙂 \u00a0\u2003 ½ ٣٤٥",
    b"bytes, too: \xc3\xa9",
    "  leading\n\n\ttabs  <|endoftext|><s> <mask>[CLS] crayon [L] [R]    ",
    "a" * 700,
    "latin-1: \xe9\xe8\xff" * 20,
]
FLAT = [text if isinstance(text, bytes) else text.encode() for text in TEXTS]  # type: ignore[attr-defined]
DATA, OFFSETS = b"".join(FLAT), np.cumsum([0, *map(len, FLAT)])


@pytest.fixture(scope="module")
def engine(llama3_like) -> _core.Engine:
    return engine_of(llama3_like)


@pytest.fixture(scope="module")
def encoder(engine, device) -> _core.DeviceEncoder:
    return _core.DeviceEncoder(engine, device.open(1 << 28), lanes=1)


def need_host_memory(device: GpuDevice) -> None:
    if not device.has_host_memory:
        pytest.skip("NumPy cannot take this device's arrays")


def assert_same(made, expected):
    for ours, theirs in zip(made, expected, strict=True):
        ours = ours.numpy() if isinstance(ours, _core.DeviceArray) else ours
        assert ours.dtype == theirs.dtype
        assert ours.tolist() == theirs.tolist()


class Exporter:
    """An array that is only accessible through DLPack."""

    def __init__(self, array: Any, device: tuple[int, int] | None = None) -> None:
        self.array, self.device = array, device

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device or self.array.__dlpack_device__()

    def __dlpack__(self, **how: Any) -> Any:
        return self.array.__dlpack__()


# -- ids


@pytest.mark.parametrize("special", [True, False])
@pytest.mark.parametrize("as_text", [True, False])
def test_ids_are_those_of_the_cpu(any_vocabulary, special, as_text, device):
    engine = engine_of(any_vocabulary)
    assert _core.why_not_on_device(engine) == ""
    expected = engine.encode_ragged(TEXTS, special, as_text)
    for elements in (1 << 29, 400):
        encoder = _core.DeviceEncoder(engine, device.open(1 << 28), elements=elements, lanes=1)
        assert_same(encoder.encode_ragged(TEXTS, special, as_text), expected)
        assert_same(encoder.encode_ragged(TEXTS, special, as_text, 0, True), expected)
        assert_same(encoder.encode_flat(DATA, OFFSETS, special, as_text), expected)
        on_device = Exporter(np.frombuffer(bytearray(DATA), np.uint8))
        assert_same(encoder.encode_flat(on_device, OFFSETS, special, as_text, True), expected)
        partitions = encoder.report["partitions"]
        assert partitions == 4 if elements > 400 else partitions > 8


def test_what_is_empty(encoder, engine):
    for texts in ([], [""], ["", ""]):
        assert_same(encoder.encode_ragged(texts), engine.encode_ragged(texts))
        assert_same(encoder.encode_ragged(texts, False, as_device_arrays=True), engine.encode_ragged(texts, False))
    assert_same(encoder.encode_flat(b"", [0]), engine.encode_ragged([]))
    assert_same(encoder.encode_flat(np.empty(0, np.int8), [0, 0]), engine.encode_ragged([""]))


def test_long_texts_of_every_width(encoder, engine, device):
    """Texts longer than the parts in which a str is converted to UTF-8."""
    if device.is_simulated:
        pytest.skip("megabytes take minutes")
    texts = ["ab " * 400_000, "é " * 300_000, "日 " * 200_000 + "é", "🙂 " * 30_000, "end"]
    assert_same(encoder.encode_ragged(texts, threads=2), engine.encode_ragged(texts))


# -- refused arguments


@pytest.mark.parametrize(
    ("texts", "kind", "message"),
    [
        (["a", "b\ud800"], TypeError, "surrogate"),
        (["a", 1], TypeError, "int"),
        ([b"a", b"b\xff"], InvalidUtf8Error, "offset 1"),
        ("text", TypeError, "str"),
        (None, TypeError, "NoneType"),
    ],
)
def test_texts_are_refused_as_by_the_cpu(encoder, engine, texts, kind, message):
    for encode in (engine.encode_ragged, encoder.encode_ragged):
        with pytest.raises(kind, match=message):
            encode(texts)
    assert_same(encoder.encode_ragged(["a"]), engine.encode_ragged(["a"]))


@pytest.mark.parametrize("as_device_arrays", [True, False])
def test_invalid_utf8_names_text_and_byte(encoder, as_device_arrays):
    data = b"fine" + b"not \xf0\x9f" + b"\xff"
    for given in (data, Exporter(np.frombuffer(bytearray(data), np.int8))):
        with pytest.raises(InvalidUtf8Error, match="offset 4"):
            encoder.encode_flat(given, [0, 4, 10, 11], as_device_arrays=as_device_arrays)


@pytest.mark.parametrize(
    ("data", "offsets", "kind", "message"),
    [
        (b"abc", [], ValueError, "empty"),
        (b"abc", [0, 4], ValueError, "is 4"),
        (b"abc", [0, 2, 1], ValueError, "is 1"),
        (b"abc", [-1, 2], ValueError, "is -1"),
        (b"abc", [[0, 1]], ValueError, "dimensions"),
        ("abc", [0, 3], TypeError, "str"),
        (Exporter(np.zeros(4, np.int32)), [0, 1], TypeError, "bytes"),
        (Exporter(np.zeros(4, np.float16)), [0, 1], TypeError, "bytes"),
        (Exporter(np.zeros((2, 2), np.uint8)), [0, 1], ValueError, "dimensions"),
        (Exporter(np.zeros(8, np.uint8)[::2]), [0, 1], ValueError, "step"),
        (Exporter(np.zeros(8, np.uint8), (2, 1)), [0, 1], ValueError, "cuda:1"),
        (Exporter(np.zeros(8, np.uint8), (10, 0)), [0, 1], ValueError, "rocm:0"),
    ],
    ids=lambda value: re.sub("[^a-z ]", "", value)[:30] if isinstance(value, str) else "",
)
def test_flat_texts_are_refused(engine, data, offsets, kind, message):
    encoder = _core.DeviceEncoder(engine, HOST.open(1 << 28), lanes=1)
    with pytest.raises(kind, match=message):
        encoder.encode_flat(data, offsets)


def test_vocabularies_that_no_device_has(wordpiece_like, engine):
    word_piece = engine_of(wordpiece_like)
    assert "text" in _core.why_not_on_device(word_piece)
    with pytest.raises(UnsupportedError, match="text"):
        _core.DeviceEncoder(word_piece, _core._testing.host_device(1 << 28))


def test_added_tokens_that_take_long_to_compare(device):
    """If the compiler does not know whether added tokens overlap, the CPU encodes texts that have them."""
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
    contents = [*(f"{i}{'a' * 900}c" for i in range(8)), "a" * 800 + "b", "<m>"]
    tokens = [{"id": 256 + i, "content": content} | flags for i, content in enumerate(contents)]
    added = reference_impl.open_engine(reference_impl.byte_level_document(added_tokens=tokens))
    encoder = _core.DeviceEncoder(added, device.open(1 << 28))
    texts = ["a" * 2000, f"3{'a' * 900}c<m>", "<m>"]
    assert_same(encoder.encode_ragged(texts), added.encode_ragged(texts))
    assert encoder.report["host_documents"] == 2


# -- memory


def test_a_call_that_fails_is_not_the_end_of_the_device(engine):
    device = _core._testing.host_device(1 << 28)
    encoder = _core.DeviceEncoder(engine, device)
    for call in ("to_device", "zero", "launch", "wait", "to_host"):
        for as_device_arrays in (True, False):
            _core._testing.fail_on_device(device, call, 1, "failed")
            with pytest.raises(DeviceError, match=f"of {call} fails for a test") as caught:
                encoder.encode_ragged(TEXTS, True, False, 0, as_device_arrays)
            assert type(caught.value) is DeviceError
            assert_same(encoder.encode_ragged(TEXTS), engine.encode_ragged(TEXTS))
    _core._testing.fail_on_device(device, "launch", 0, "lost")
    for _ in range(2):
        with pytest.raises(DeviceLostError):
            encoder.encode_ragged(TEXTS)


def test_arrays_outlive_the_encoder_and_are_freed(engine):
    device = _core._testing.host_device(12 << 20)
    expected = engine.encode_ragged(TEXTS)
    views = [
        np.from_dlpack(array)
        for array in _core.DeviceEncoder(engine, device, lanes=1).encode_ragged(TEXTS, as_device_arrays=True)
    ]
    gc.collect()
    assert_same(views, expected)
    # Together more than the device's memory, so nothing may be kept.
    encoder = _core.DeviceEncoder(engine, device, lanes=1)
    text = "a b " * 20_000
    for _ in range(80):
        ids, _splits = encoder.encode_ragged([text], as_device_arrays=True)
        ids.__dlpack__()  # a capsule without a consumer
        np.from_dlpack(ids)
    assert ids.nbytes * 80 > 12 << 20
    assert_same(views, expected)


# -- reused memory


def counts_on(device: Any) -> dict[str, int]:
    return _core._testing.device_counts(device)


def words(count: int) -> str:
    return "a b " * (count // 2)


def test_trim_gives_memory_back(engine):
    device = _core._testing.host_device(1 << 28)
    encoder = _core.DeviceEncoder(engine, device)
    empty = counts_on(device)["used"]
    encoder.encode_ragged([words(10_000)])
    assert counts_on(device)["used"] > empty
    assert counts_on(device)["pinned"] > 0
    _core.trim()
    counts = counts_on(device)
    assert (counts["used"], counts["pinned"]) == (empty, 0)
    assert_same(encoder.encode_ragged(TEXTS), engine.encode_ragged(TEXTS))


@pytest.mark.slow
def test_a_wait_that_fails_leaves_no_copy_on_its_way(engine):
    """If waiting for the device fails, copies from and to the encoder's memory still finish before the memory is
    freed."""
    texts = ["<|eot_id|> is the CPU's", words(40_000), *["y" * 60_000] * 8, "x" * 3000]
    expected = engine.encode_ragged(texts)
    failed = 0
    for number in range(60):
        device = _core._testing.host_device(1 << 28, is_deferred=True)
        _core._testing.fail_on_device(device, "wait", number, "failed")
        try:
            encoder = _core.DeviceEncoder(engine, device, elements=100_000, lanes=1)
            made = encoder.encode_ragged(texts)
        except DeviceError:
            failed += 1
            encoder = _core.DeviceEncoder(engine, device, elements=100_000)
            made = encoder.encode_ragged(texts)
        assert_same(made, expected)
    assert failed > 20


# -- exhausted memory


@pytest.mark.parametrize("as_device_arrays", [True, False])
@pytest.mark.parametrize("lanes", [1, 2])
def test_any_allocation_may_fail(engine, lanes, as_device_arrays):
    """After a failed allocation the encoder tries smaller partitions of the batch. Each text is encoded once."""
    texts = [f"text {i}, it's what they've said {i * i}" for i in range(400)]
    expected = engine.encode_ragged(texts)
    device = _core._testing.host_device(1 << 28)
    size = sum(map(len, texts)) + 64 * len(texts)
    for number in range(200):
        encoder = _core.DeviceEncoder(engine, device, elements=size // 3, lanes=lanes)
        before = counts_on(device)["allocate"]
        # The pool tries twice.
        _core._testing.fail_on_device(device, "allocate", number, "out_of_memory", 2)
        assert_same(encoder.encode_ragged(texts, True, False, 0, as_device_arrays), expected)
        report = encoder.report
        assert report["bytes"] == sum(map(len, texts))
        assert report["partitions"] >= 3
        if counts_on(device)["allocate"] - before <= number:
            break  # it has taken fewer allocations
    assert_same(encoder.encode_ragged(TEXTS), engine.encode_ragged(TEXTS))


@pytest.mark.parametrize("as_device_arrays", [True, False])
def test_memory_that_another_process_takes(engine, as_device_arrays):
    texts = [words(10_000)] * 60
    expected = engine.encode_ragged(texts)
    device = _core._testing.host_device(1 << 28)
    encoder = _core.DeviceEncoder(engine, device)
    for is_told in (True, False):
        _core.trim()
        room = 8 << 20
        _core._testing.take_device_memory(device, (1 << 28) - counts_on(device)["used"] - room, is_told)
        before = encoder.report["partitions"]
        made = encoder.encode_ragged(texts, True, False, 0, as_device_arrays)
        assert_same(made, expected)
        assert 60 >= encoder.report["partitions"] - before > 1
        _core._testing.take_device_memory(device, (1 << 28) - 1000, is_told)
        with pytest.raises(DeviceOutOfMemoryError):
            encoder.encode_ragged([words(1_000_000)])
        _core._testing.take_device_memory(device, 0)
        before = encoder.report["partitions"]
        assert_same(encoder.encode_ragged(texts), expected)
        assert encoder.report["partitions"] - before == 1  # memory is available again


# -- arrays


@pytest.fixture(scope="module")
def array(encoder) -> _core.DeviceArray:
    return encoder.encode_ragged(TEXTS, as_device_arrays=True)[0]


def test_numpy_takes_arrays_without_a_copy(array, engine, device):
    need_host_memory(device)
    ids = engine.encode_ragged(TEXTS)[0]
    first, second = np.from_dlpack(array), np.from_dlpack(array)
    assert first.tolist() == ids.tolist()
    assert first.ctypes.data == second.ctypes.data
    copied = np.from_dlpack(array, copy=True)
    assert copied.tolist() == ids.tolist()
    assert copied.ctypes.data != first.ctypes.data
    assert array.numpy().ctypes.data != first.ctypes.data
    assert np.from_dlpack(array, device="cpu", copy=False).ctypes.data == first.ctypes.data


def test_dlpack_refuses(array, device):
    need_host_memory(device)
    for how, message in (({"dl_device": (2, 0)}, "device"), ({"stream": 1}, "stream")):
        with pytest.raises(BufferError, match=message):
            array.__dlpack__(**how)
    assert '"dltensor"' in repr(array.__dlpack__(stream=-1))
    assert '"dltensor_versioned"' in repr(array.__dlpack__(max_version=(1, 1)))
    assert '"dltensor"' in repr(array.__dlpack__(max_version=(0, 8)))


# -- streams


class Filled(Exporter):
    """An array of another library, whose bytes its stream fills only after the array is requested."""

    def __init__(self, device: Any, data: bytes) -> None:
        super().__init__(np.zeros(len(data), np.uint8), (2, 0))
        self.on, self.data = device, bytearray(data)
        self.stream = _core._testing.open_device_stream(device)
        _core._testing.copy_on_device(device, self.stream, self.array, self.data)

    def __dlpack__(self, **how: Any) -> Any:
        _core._testing.stream_after_on_device(self.on, how["stream"], self.stream)
        return self.array.__dlpack__()


class CudaArray:
    def __init__(self, array: Any, **items: Any) -> None:
        usual = {"typestr": "|u1", "shape": array.shape, "data": (array.ctypes.data, False), "version": 3}
        self.__cuda_array_interface__ = usual | items


@pytest.mark.parametrize("lanes", [1, 2])
@pytest.mark.parametrize("elements", [1 << 29, 300])
def test_streams_that_are_late(any_vocabulary, lanes, elements):
    """The device runs work only when the encoder waits for it, so a read or a free that comes too early shows."""
    engine = engine_of(any_vocabulary)
    device = _core._testing.host_device(1 << 28, is_deferred=True)
    encoder = _core.DeviceEncoder(engine, device, elements=elements, lanes=lanes)
    for special in (True, False):
        expected = engine.encode_ragged(TEXTS, special)
        for as_device_arrays in (True, False):
            assert_same(encoder.encode_ragged(TEXTS, special, False, 0, as_device_arrays), expected)
            assert_same(encoder.encode_flat(DATA, OFFSETS, special, False, as_device_arrays), expected)
    ids, _splits = encoder.encode_ragged(TEXTS, False, as_device_arrays=True)
    assert np.from_dlpack(ids, copy=True).tolist() == np.from_dlpack(ids).tolist() == expected[0].tolist()
    assert counts_on(device)["streams"] >= lanes
    del encoder, ids, _splits
    gc.collect()
    counts = counts_on(device)
    assert (counts["streams"], counts["used"], counts["pinned"]) == (0, 0, 0)


def test_what_a_stream_has_still_to_fill(engine):
    data = "it's text, in another library's stream " * 40
    offsets = [0, 100, len(data)]
    expected = engine.encode_ragged([data[:100], data[100:]])
    device = _core._testing.host_device(1 << 28, kind="cuda", is_deferred=True)
    whole = np.frombuffer(data.encode(), np.int8)

    def on_the_default_stream(late: Filled) -> CudaArray:
        _core._testing.stream_after_on_device(device, 0, late.stream)
        return CudaArray(late.array, stream=1)

    for elements in (1 << 29, 100):
        encoder = _core.DeviceEncoder(engine, device, elements=elements)
        for as_device_arrays in (True, False):
            for make in (
                lambda late: late,
                lambda late: CudaArray(late.array, stream=late.stream, strides=(1,), mask=None),
                on_the_default_stream,
            ):
                late = Filled(device, data.encode())
                assert_same(encoder.encode_flat(make(late), offsets, True, False, as_device_arrays), expected)
            signed = CudaArray(whole, typestr="|i1", stream=None)
            assert_same(encoder.encode_flat(signed, offsets, True, False, as_device_arrays), expected)
    assert_same(encoder.encode_flat(CudaArray(whole[:0], data=(0, True)), [0]), engine.encode_ragged([]))


# -- processes and threads


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")
def test_a_child_cannot_use_it(encoder, array, device):
    opened = f"{device.label} was opened by process {os.getpid()}.*spawn"

    def use() -> None:
        for call in (lambda: encoder.encode_ragged(["a"]), lambda: encoder.encode_flat(b"a", [0, 1]), array.__dlpack__):
            with pytest.raises(DeviceLostError, match=opened):
                call()

    child = multiprocessing.get_context("fork").Process(target=use)
    child.start()
    child.join()
    assert child.exitcode == 0


@pytest.mark.concurrency
def test_threads_share_it(encoder, engine):
    def work(number: int) -> None:
        texts = [f"thread {number}, text {i}; it's 日本語" for i in range(50)]
        expected = engine.encode_ragged(texts)
        for _ in range(5):
            assert_same(encoder.encode_ragged(texts), expected)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
