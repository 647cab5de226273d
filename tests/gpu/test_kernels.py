"""The kernels on every available device: for every pattern, exact and greedy, ids are those of the CPU engine, and no
thread searches long."""

from __future__ import annotations

import base64
import json
import lzma
import random
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from crayon_hf import _core
from crayon_hf.parity.inputs.strings import generate
from tests.support.gpu_devices import HOST, SIMULATORS, GpuDevice, engine_of

FAMILIES = ("gpt2", "cl100k", "llama3", "qwen2", "o200k", "tekken")
PUBLISHED = ("gpt2", "llama3", "o200k_base")
RUNS = (
    *("a", "A", "aB", "Ba", "7", " ", " \n", "\n", "!", "!\n", "/"),
    *("中", "中A", "é", "'s", "'lL", "\u0301", "a\u0301"),
)


def strings(count: int) -> list[str]:
    def is_text(text: str) -> bool:
        return not any("\ud800" <= character <= "\udfff" for character in text)

    return list(islice((text for _, text in generate(2 * count, 8) if is_text(text)), count))


def assert_same_ids(engine: _core.Engine, texts: list[str], device: GpuDevice) -> None:
    for mode in (engine, engine.greedy()):
        assert _core.why_not_on_device(mode) == ""
        expected = mode.encode_ragged(texts)
        for elements in (1 << 29, 4_000 if device.is_simulated else 20_000):
            made = _core.DeviceEncoder(mode, device.open(), elements=elements).encode_ragged(texts)
            for ours, theirs in zip(made, expected, strict=True):
                np.testing.assert_array_equal(ours, theirs)


@pytest.fixture(scope="module", params=FAMILIES)
def engine(request: pytest.FixtureRequest, llama3_like: Path) -> _core.Engine:
    """The engine of a trained vocabulary, with each of the published patterns in turn."""
    document = json.loads(llama3_like.read_text(encoding="utf-8"))
    split = {"type": "Split", "pattern": {"Regex": _core.canonical_pattern(request.param)}}
    bytes_alone = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    steps = [{**split, "behavior": "Isolated", "invert": False}, bytes_alone]
    document["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": steps}
    cartridge = _core.compile_tokenizer_json(json.dumps(document).encode(), "{}")
    return _core.Engine.from_bytes(cartridge)


def test_generated_strings(engine: _core.Engine, device: GpuDevice) -> None:
    assert_same_ids(engine, strings(device.some(500)), device)


def runs(counts: tuple[int, ...], starts: tuple[str, ...], ends: tuple[str, ...]) -> list[str]:
    """Texts that repeat one of RUNS `count` times. Long ones exceed the part of a text that one thread searches, or the
    longest pretoken that a device merges."""
    return [start + run * count + end for run in RUNS for count in counts for start in starts for end in ends]


def test_runs_across_chunks(engine: _core.Engine, training_text: list[str], device: GpuDevice) -> None:
    if device.is_simulated:
        assert_same_ids(engine, [*runs((65,), ("",), ("?",)), "a" * 1500, *training_text[:10]], device)
    else:
        assert_same_ids(engine, [*runs((63, 130, 1500), ("", "x"), ("?", "1")), *training_text], device)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("simulator", SIMULATORS, ids=lambda simulator: simulator.name)
def test_schedules(engine: _core.Engine, simulator: GpuDevice, seed: int) -> None:
    """The simulators run lanes in other orders, and the preprocessor branches of both runtimes; ids stay the same."""
    assert_same_ids(engine, [*strings(60), *runs((33, 66), ("",), ("1",))], simulator.with_seed(1 + seed))


@pytest.mark.slow
def test_runs_of_tiles(engine: _core.Engine) -> None:
    """The kernels skip a tile of 64 KB as a whole if it is uniform, unless a text begins in it."""
    for run in (*RUNS, "\u3000", "A中", "AB", "\r\n"):
        long = run * (140_000 // len(run.encode()))
        half = len(long) // 2
        assert_same_ids(engine, ["x" * 61 + long, f"{long[:half]} y", long[half:] + "?", long + "\n z"], HOST)


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_vocabularies(name: str, shared: Path, device: GpuDevice) -> None:
    directory = shared / "vocab" / name
    ranks = directory / f"{name}.tiktoken"
    engine = engine_of(ranks if name.endswith("_base") else directory / "tokenizer.json")
    texts = strings(device.some(200))
    for language in ("english", "code", "multi"):
        with lzma.open(shared / "corpus" / f"{language}.txt.xz", "rt", encoding="utf-8") as file:
            text = file.read(device.some(60_000))
        texts += [text, *text.split("\n")[: device.some(100)]]
    assert_same_ids(engine, texts, device)


# -- texts with few places where a pretoken surely begins: how far one GPU thread searches for such a place

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


def encoded(engine: _core.Engine, text: str) -> dict[str, int]:
    """Encode `text` between two other texts on the CPU device, and check the ids. Returns the encoder's report, which
    says whether the device or the CPU encoded the text."""
    texts = ["before", text, "it's behind"]
    encoder = _core.DeviceEncoder(engine, HOST.open())
    for ours, theirs in zip(encoder.encode_ragged(texts), engine.encode_ragged(texts), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    return encoder.report


@pytest.mark.parametrize("kind", KINDS)
def test_one_thread_walks_little(engine: _core.Engine, kind: str) -> None:
    text = KINDS[kind] * ((1 << 20) // len(KINDS[kind].encode()))
    report = encoded(engine, text)
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
        report = encoded(engine, text * (size // len(text.encode())))
        assert report["host_documents"] == documents
        assert report["longest_walk"] == MOST if documents else report["longest_walk"] < MOST
