"""Texts with few places where a pretoken surely begins: how far one GPU thread searches for such a place."""

from __future__ import annotations

import base64
import random

import numpy as np
import pytest

from crayon_hf import _core
from tests.gpu.test_kernels import engine
from tests.support.gpu_devices import HOST, GpuDevice

__all__ = ["engine"]

CASED = ("o200k", "tekken")
MOST = 4096
"""The most windows of 64 bytes that one thread searches: kMostWindows of cpp/gpu/work.h."""

KINDS = {
    "quotes": "'abc','def','ghi',",
    "quoted letters": "'s','t','re','ll','d','m','ve',",
    "quotes alone": "'x'y'z'\u017f'a",
    "JSON": '{"id":1,"name":"abc","tags":["x","y"],"it\'s":true,"n":null},',
    "base64": base64.b64encode(random.Random(5).randbytes(3000)).decode(),
    "logs": "2026-01-02T03:04:05.678Z INFO [worker-1] GET /a/b?c=d&e='f' 200 12ms\n",
    "CJK": "中文\uff0c标点。「引号」\uff01日本語、句読点・",
    "emoji": "😀👨\u200d👩\u200d👧❤\ufe0f👍🏽",
    "digits": "1.5,25.125;3/4:",
    "marks": "e\u0301E\u0301n\u0303\u0301\u0301 ",
    "marked capitals": "E\u0301A\u0300",
    "capitals": "中A国B",
    "CR LF": "a;\r\n \r\n\t\r\n",
    "blank lines": " \r\n\t\n",
    "slashes": "/\n//\r\n",
    "tabs": "\t\tx\t=\t'1';\t\n",
}


def encoded(engine: _core.Engine, text: str, device: GpuDevice) -> _core.DeviceEncoder:
    """Encode `text` between two other texts on a device, and check the ids. Returns the encoder, whose report says
    whether the device or the CPU encoded the text."""
    texts = ["before", text, "it's behind"]
    encoder = _core.DeviceEncoder(engine, device.open())
    for ours, theirs in zip(encoder.encode_ragged(texts), engine.encode_ragged(texts), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    return encoder


@pytest.mark.parametrize("kind", KINDS)
def test_one_thread_walks_little(engine: _core.Engine, kind: str) -> None:
    text = KINDS[kind] * ((1 << 20) // len(KINDS[kind].encode()))
    report = encoded(engine, text, HOST).report
    assert report["longest_walk"] < 256
    assert report["host_documents"] == 0


@pytest.mark.parametrize(
    ("text", "families"),
    [("'s", ["o200k"]), ("❤\ufe0f", CASED), ("!\n/", CASED)],
    ids=["contractions", "emoji", "slashes"],
)
def test_the_cpu_encodes_what_one_thread_would_walk(
    engine: _core.Engine, request: pytest.FixtureRequest, text: str, families: list[str]
) -> None:
    """In such a text no position shows by its neighbours whether a pretoken begins there: 's's's is either 's, 's, 's
    or a quote and s's."""
    is_walked = request.node.callspec.params["engine"] in families
    for size, documents in ((MOST, 0), (MOST * 64 * 2, int(is_walked))):
        report = encoded(engine, text * (size // len(text.encode())), HOST).report
        assert report["host_documents"] == documents
        assert report["longest_walk"] == MOST if documents else report["longest_walk"] < MOST
