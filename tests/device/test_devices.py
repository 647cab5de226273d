"""`Tokenizer.to(device)`, with a module that runs on the CPU instead of the modules for GPUs."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
import sys
import sysconfig
import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import crayon_hf
from crayon_hf import (
    CrayonVocab,
    DeviceError,
    DeviceLostError,
    DeviceOutOfMemoryError,
    DeviceUnavailableError,
    DeviceWarning,
    Tokenizer,
    _core,
)
from crayon_hf.compat_crayon.vocab import DeviceState
from crayon_hf.device import devices

TEXTS = ["Hello, world!", "", "naïve 日本語 <|endoftext|>", b"bytes"]
MANY = ["it's what they've said "] * 4000
"""A batch large enough for `auto` to use a device."""

ENOUGH, TOO_LITTLE = 1 << 28, 1000


class StandIn(SimpleNamespace):
    """A replacement of the module ``crayon_hf._cuda``, with one device for each size of memory."""

    def __init__(self, *memory: int, why: str = "") -> None:
        super().__init__(memory=list(memory), why=why, opened=[])

    def devices(self) -> list[tuple[int, str, int, str]]:
        return [(i, f"Stand-in {i}", bytes, "sm_00") for i, bytes in enumerate(self.memory)]

    def why_unusable(self) -> str:
        return str(self.why)

    def open(self, index: int) -> Any:
        self.opened.append(index)
        return _core._testing.host_device(self.memory[index])


@pytest.fixture(autouse=True)
def _no_device(monkeypatch):
    for variable in ("CRAYON_DEVICE", "CRAYON_DEVICE_ELEMENTS", "CRAYON_DEVICE_MARGIN"):
        monkeypatch.delenv(variable, raising=False)
    for module in ("crayon_hf._cuda", "crayon_hf._hip"):
        monkeypatch.setitem(sys.modules, module, None)


@pytest.fixture
def put(monkeypatch):
    """A function put("cuda" or "rocm", memory of each device, ...) that simulates a build and a machine with such
    devices."""

    def put(kind: str, *memory: int, why: str = "") -> StandIn:
        module = StandIn(*memory, why=why)
        monkeypatch.setitem(sys.modules, {"cuda": "crayon_hf._cuda", "rocm": "crayon_hf._hip"}[kind], module)
        return module

    return put


@pytest.fixture
def tokenizer(llama3_like) -> Tokenizer:
    return Tokenizer.from_file(llama3_like)


def lists(arrays: Any) -> list[list[int]]:
    return [np.from_dlpack(array).tolist() for array in arrays]


def is_on_device(tokenizer: Any) -> bool:
    return isinstance(tokenizer.encode_ragged(["a"], as_device_arrays=True)[0], _core.DeviceArray)


def refused(tokenizer: Any, device: Any, message: str, kind: type[Exception] = DeviceUnavailableError) -> None:
    with pytest.raises(kind, match=message):
        tokenizer.to(device)


# -- choosing


def test_auto_takes_cuda_then_rocm_then_the_cpu(put):
    assert devices.choose("auto")[1:3] == ("cpu", "ready")
    rocm = put("rocm", ENOUGH)
    assert devices.choose("auto")[1:] == ("rocm", "ready", "the best device that can be used: Stand-in 0", 0)
    put("cuda", why="no driver")
    assert devices.choose("auto").device == "rocm"
    rocm.why = "no card"
    choice = devices.choose("auto")
    assert choice[1:3] == ("cpu", "ready")
    assert "cuda cannot be used (no driver); rocm cannot be used (no card)" in choice.reason
    put("cuda", ENOUGH)
    assert devices.choose("auto").name == "cuda:0"


@pytest.mark.parametrize("device", ["cuda:", "cuda:-1", "cuda:x", "cpu:0", "auto:1", "gpu", "", None, 0])
def test_no_such_name(tokenizer, device):
    refused(tokenizer, device, "device is .*, expected one of auto, cpu, cuda, rocm", ValueError)


# -- Tokenizer.to


def test_the_same_ids_on_a_device(any_vocabulary, put):
    put("cuda", ENOUGH)
    tokenizer, twin = Tokenizer.from_file(any_vocabulary), Tokenizer.from_file(any_vocabulary)
    assert twin.device == "cpu"
    assert twin.to("cuda") is twin
    assert twin.device == "cuda:0"
    flat = [text if isinstance(text, bytes) else text.encode() for text in TEXTS]  # type: ignore[attr-defined]
    offsets = np.cumsum([0, *map(len, flat)])
    for special in (True, False):
        for as_text in (True, False):
            tokenizer.encode_special_tokens = twin.encode_special_tokens = as_text
            expected = lists(tokenizer.encode_ragged(TEXTS, special))
            assert lists(twin.encode_ragged(TEXTS, special)) == expected
            assert lists(twin.encode_ragged(TEXTS, special, as_device_arrays=True)) == expected
            for one in (tokenizer, twin):
                assert lists(one.encode_flat(b"".join(flat), offsets, special)) == expected
                assert one.count_tokens(TEXTS, special) == np.diff(expected[1]).tolist()
    assert is_on_device(twin)
    assert not is_on_device(tokenizer)
    # Calls that the CPU always handles.
    assert twin.encode("Hello", "world").ids == tokenizer.encode("Hello", "world").ids
    assert twin.count_tokens("Hello") == tokenizer.count_tokens("Hello")
    assert twin.encode_batch(["Hello"])[0].offsets == tokenizer.encode_batch(["Hello"])[0].offsets
    assert not is_on_device(twin.to("cpu"))


def test_a_device_that_cannot_be_had_leaves_the_tokenizer_where_it_is(put, tokenizer):
    refused(tokenizer, "cuda", 'cuda:0: this build has no engine for cuda.*; "auto" takes the best available device')
    put("cuda", ENOUGH, TOO_LITTLE)
    put("rocm", why="no driver")
    tokenizer.to("cuda")
    refused(tokenizer, "rocm", "rocm:0: rocm cannot be used \\(no driver\\)")
    refused(tokenizer, "cuda:2", "cuda:2 was not found among 2 devices")
    refused(tokenizer, "cuda:1", "allocating memory", DeviceOutOfMemoryError)
    assert tokenizer.device == "cuda:0"
    assert is_on_device(tokenizer)


def test_auto_goes_on_on_the_cpu_with_one_warning(put, tokenizer):
    put("cuda", TOO_LITTLE)
    expected = lists(tokenizer.encode_ragged(MANY))
    with pytest.warns(DeviceWarning, match="the CPU encodes") as caught:
        tokenizer.to("auto")
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert lists(tokenizer.encode_ragged(MANY)) == expected
        assert lists(tokenizer.encode_ragged(MANY, as_device_arrays=True)) == expected
        assert tokenizer.count_tokens(MANY) == np.diff(expected[1]).tolist()
    assert tokenizer.device == "cpu"
    assert "allocating memory" in tokenizer.engine_report()["device_reason"]


def test_a_call_that_fails(put, tokenizer):
    device = _core._testing.host_device(ENOUGH)
    put("cuda", ENOUGH).open = lambda index: device
    strict, tolerant = copy.copy(tokenizer).to("cuda"), copy.copy(tokenizer).to("auto")
    expected = lists(tokenizer.encode_ragged(MANY))
    _core._testing.fail_on_device(device, "launch", 3, "failed")
    with pytest.raises(DeviceError, match=r"starting a kernel: .* fails for a test"):
        strict.encode_ragged(MANY)
    _core._testing.fail_on_device(device, "launch", 3, "failed")
    with pytest.warns(DeviceWarning, match="the CPU encodes"):
        assert lists(tolerant.encode_ragged(MANY)) == expected
    for one in (strict, tolerant):
        assert one.device == "cuda:0"
        assert lists(one.encode_ragged(MANY)) == expected
        assert is_on_device(one)


def test_auto_uses_a_device_where_it_pays(put, tokenizer):
    cuda = put("cuda", ENOUGH)
    tokenizer.to("auto")
    report = lambda: tokenizer._placement._kept[1].report["partitions"]  # noqa: E731
    assert cuda.opened == [0]
    tokenizer.encode_ragged(TEXTS)
    tokenizer.count_tokens(TEXTS)
    with pytest.raises(TypeError, match="item 1 of the batch is int"):
        tokenizer.encode_ragged(["a", 1])
    assert report() == 0
    tokenizer.encode_ragged(MANY)
    tokenizer.count_tokens(MANY)
    tokenizer.encode_ragged(TEXTS, as_device_arrays=True)
    assert report() == 3


def test_a_vocabulary_that_no_device_encodes(put, wordpiece_like):
    cuda = put("cuda", ENOUGH)
    tokenizer = Tokenizer.from_file(wordpiece_like)
    expected = lists(tokenizer.encode_ragged(MANY))
    with pytest.warns(DeviceWarning, match="no device supports"):
        tokenizer.to("cuda")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert lists(tokenizer.encode_ragged(MANY)) == expected
        assert lists(tokenizer.to("auto").encode_ragged(MANY, as_device_arrays=True)) == expected
    assert tokenizer.device == "cpu"
    assert "its model works on text" in tokenizer.engine_report()["device_reason"]
    assert cuda.opened == []


def test_changes_reach_the_device(put, tokenizer):
    put("cuda", ENOUGH)
    text = "a <new> token"
    before = lists(tokenizer.to("cuda").encode_ragged([text]))
    tokenizer.add_special_tokens(["<new>"])
    after = lists(tokenizer.encode_ragged([text]))
    assert after == lists(copy.copy(tokenizer).to("cpu").encode_ragged([text])) != before
    assert is_on_device(tokenizer)
    # A change that no GPU supports, and back.
    from tokenizers import normalizers

    tokenizer.normalizer = normalizers.Lowercase()
    with pytest.warns(DeviceWarning, match="its normalizer is not NFC"):
        assert not is_on_device(tokenizer)
    tokenizer.normalizer = None
    assert is_on_device(tokenizer)
    assert lists(tokenizer.encode_ragged([text])) == after


# -- copies, processes, threads


def test_copies_and_pickles_go_back(put, tokenizer):
    cuda = put("cuda", ENOUGH, ENOUGH)
    expected = lists(tokenizer.to("cuda:1").encode_ragged(TEXTS))
    for twin in (copy.copy(tokenizer), copy.deepcopy(tokenizer)):
        assert twin.device == "cuda:1"
        assert lists(twin.encode_ragged(TEXTS)) == expected
    data = pickle.dumps(tokenizer)
    opened = list(cuda.opened)
    twin = pickle.loads(data)
    assert cuda.opened == opened  # opened only when it encodes a batch
    assert lists(twin.encode_ragged(TEXTS)) == expected
    assert is_on_device(twin)
    assert (twin.device, cuda.opened) == ("cuda:1", [*opened, 1])


def test_a_pickle_where_there_is_no_such_device(put, tokenizer):
    put("cuda", ENOUGH)
    strict, tolerant = pickle.dumps(tokenizer.to("cuda")), pickle.dumps(tokenizer.to("auto"))
    expected = lists(tokenizer.encode_ragged(TEXTS))
    put("cuda", why="no driver")
    assert lists(pickle.loads(tolerant).encode_ragged(TEXTS)) == expected
    twin = pickle.loads(strict)
    assert twin.encode("Hello").ids == tokenizer.encode("Hello").ids
    with pytest.raises(DeviceUnavailableError, match="no driver"):
        twin.encode_ragged(TEXTS)
    assert lists(twin.to("cpu").encode_ragged(TEXTS)) == expected


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")
def test_a_forked_child(put, tokenizer):
    put("cuda", ENOUGH)
    strict, tolerant = copy.copy(tokenizer).to("cuda"), copy.copy(tokenizer).to("auto")
    expected = lists(tokenizer.encode_ragged(MANY))

    def use() -> None:
        with pytest.raises(DeviceLostError, match="was opened by process"):
            strict.encode_ragged(MANY)
        with pytest.raises(DeviceUnavailableError, match="this process was forked"):
            tokenizer.to("cuda")
        with pytest.warns(DeviceWarning, match="was opened by process"):
            assert lists(tolerant.encode_ragged(MANY)) == expected
        assert lists(strict.to("cpu").encode_ragged(MANY)) == expected
        assert CrayonVocab().device == "cpu"

    child = multiprocessing.get_context("fork").Process(target=use)
    child.start()
    child.join()
    assert child.exitcode == 0
    assert is_on_device(strict)


# -- CrayonVocab


def test_crayon_vocab(put, gpt2_like):
    put("cuda", ENOUGH)
    texts = ["Hello, world!", "", "naïve 日本語"]
    on_cpu, vocab = CrayonVocab(device="cpu"), CrayonVocab(device="cuda")
    for one in (on_cpu, vocab):
        one.load_profile(gpt2_like)
    assert (vocab.device, vocab.device_state, vocab.is_gpu) == ("cuda", DeviceState.READY, True)
    info = vocab.get_info()
    assert (info["device"], info["backend"], info["reason"]) == ("cuda", "cuda_extension", "as asked")
    assert info["hardware"] == {"name": "Stand-in 0", "features": "sm_00"}
    assert vocab.tokenize(texts) == on_cpu.tokenize(texts)
    assert lists(vocab.encode_ragged(texts)) == lists(on_cpu.encode_ragged(texts))
    assert is_on_device(vocab)
    assert not is_on_device(on_cpu)
    vocab.set_device("cpu")
    assert not is_on_device(vocab)


def test_an_engine_that_cannot_be_loaded_says_why(tmp_path, monkeypatch):
    (tmp_path / f"_hip{sysconfig.get_config_var('EXT_SUFFIX')}").write_bytes(b"no library")
    monkeypatch.delitem(sys.modules, "crayon_hf._hip")
    monkeypatch.setattr(crayon_hf, "__path__", [str(tmp_path), *crayon_hf.__path__])
    assert "the engine for rocm cannot be loaded (" in devices.why_not("rocm", 0)
    choice = devices.choose("auto")
    assert (choice.device, "cannot be loaded" in choice.reason) == ("cpu", True)


def test_crayon_device_says_what_auto_is(put, monkeypatch, tokenizer):
    put("cuda", ENOUGH, ENOUGH)
    monkeypatch.setenv("CRAYON_DEVICE", "cuda:1")
    assert tokenizer.to("auto").device == "cuda:1"
    monkeypatch.setenv("CRAYON_DEVICE", "cpu")
    assert tokenizer.to("auto").device == "cpu"
