"""Memory: cartridges are shared between processes, working memory is bounded, long pretokens are no trouble."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from tokenizers import AddedToken, Tokenizer

from crayon_hf import _core
from tests.support import reference_impl
from tests.support.cartridge_text import NAMES, text_source

cpu = reference_impl.cpu
linux = pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="needs /proc/self/smaps")

PRELUDE = """
import json, random, sys
from crayon_hf import _core


def resident():
    for line in open("/proc/self/status"):
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024


def mapping(path):
    out, inside = {}, False
    for line in open("/proc/self/smaps"):
        fields = line.split()
        if not fields[0].endswith(":"):
            inside = line.rstrip().endswith(path)
            if inside:
                out.setdefault("permissions", []).append(fields[1])
        elif inside and fields[-1] == "kB":
            out[fields[0][:-1]] = out.get(fields[0][:-1], 0) + int(fields[1])
    return out


path = sys.argv[1]
"""


# glibc keeps up to twice the largest block that was freed; so it gives back at once, and what is left is what we hold.
FRUGAL = os.environ | {"MALLOC_TRIM_THRESHOLD_": "131072", "MALLOC_MMAP_THRESHOLD_": "131072"}


def run(code: str, cartridge: Path, timeout: int = 60) -> Any:
    """What a new process that runs this prints, as JSON. It is killed after `timeout` seconds."""
    command = [sys.executable, "-c", PRELUDE + textwrap.dedent(code), str(cartridge)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=timeout, check=False, cwd=cartridge.parent, env=FRUGAL
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def cartridge_of(source: Path, directory: Path) -> Path:
    path = directory / f"{source.stem}.dat"
    path.write_bytes(_core.compile_tokenizer_json(source.read_bytes()))
    return path


@pytest.fixture(scope="module")
def cartridge(gpt2_like: Path, tmp_path_factory: pytest.TempPathFactory, cpu: str) -> Path:
    return cartridge_of(gpt2_like, tmp_path_factory.mktemp("cartridges"))


@linux
def test_processes_share_the_pages(cartridge: Path) -> None:
    """This process has all pages mapped; another that encodes has the same ones and none of its own."""
    engine = _core.Engine.open(str(cartridge), verify=True)
    code = """
    engine = _core.Engine.open(path)
    for seed in range(3):
        engine.encode_ids(random.Random(seed).randbytes(50_000).decode("latin-1"))
    print(json.dumps(mapping(path)))
    """
    pages = run(code, cartridge)
    assert set(pages["permissions"]) <= {"r--p", "r--s"}
    assert pages["Rss"] > 100
    assert pages["Anonymous"] == 0
    assert pages["Private_Dirty"] == 0
    assert pages["Shared_Clean"] + pages["Shared_Dirty"] > 0.9 * pages["Rss"]
    assert pages["Pss"] < pages["Rss"]
    assert engine.encode_ids("a")


@pytest.mark.slow
@pytest.mark.measures_memory
@linux
@pytest.mark.parametrize("threads", [1, 4])
def test_memory_is_bounded_on_new_words(cartridge: Path, threads: int) -> None:
    """Words that never came before, 2 MB a round: a thread's caches grow until they are full, and nothing else does.

    When a thread's are full is the machine's affair: a busy one gives a thread its first task late. So rounds go on
    until twenty in a row, 40 MB of new words, added next to nothing; were they kept, there would be no such twenty.
    """
    code = f"""
    engine = _core.Engine.open(path)
    letters = bytes(b"etaoinshrdlucmfwyp"[i % 18] if i % 7 else 32 for i in range(256))
    rng = random.Random(1)

    def encode():
        texts = [rng.randbytes(1 << 16).translate(letters).decode() for _ in range(16)]
        engine.encode_ragged(texts, threads={threads})
        engine.count_tokens(texts, threads={threads})
        engine.encode_ids(texts[0])

    before = settled = resident()
    quiet = rounds = 0
    while quiet < 20 and rounds < 300:
        encode()
        rounds += 1
        quiet += 1
        if resident() > settled + 8:
            settled, quiet = resident(), 0
    print(json.dumps([quiet, resident() - before]))
    """
    quiet, grown = run(code, cartridge, timeout=120)
    assert quiet == 20
    assert grown < 20 * threads + 40


@pytest.mark.slow
@pytest.mark.measures_memory
@linux
def test_memory_of_a_large_text_is_given_back(cartridge: Path) -> None:
    code = """
    engine = _core.Engine.open(path)
    engine.encode("warm up")
    before = resident()
    peak = 0
    for text in ("word " * (1 << 20), "a" * (1 << 22), "\\u4e2d" * (1 << 20), "word\\n" * (1 << 18)):
        size = len(engine.encode(text).ids) if len(text) <= 1 << 21 else engine.count_tokens([text])[0]
        assert size > 1000
        peak = max(peak, resident() - before)
        del text
    print(json.dumps([resident() - before, peak]))
    """
    left, peak = run(code, cartridge)
    assert left < 10
    assert peak < 400


LONG = {
    "a": "'a' * n",
    "letters": "''.join(random.Random(1).choices('etaoinshr', k=n))",
    "phrase": "('abcdefghij' * (n // 10 + 1))[:n]",
    "spaces": "' ' * n",
    "line breaks": "'\\n' * n",
    "punctuation": "'!?.' * (n // 3)",
    "digits": "'1' * n",
    "CJK": "''.join(chr(c) for c in random.Random(1).choices(range(0x4e00, 0x5000), k=n // 3))",
    "emoji": "'\\U0001f642' * (n // 4)",
    "unspaced code": "('self.x=' * n)[:n]",
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", LONG)
def test_long_pretokens(cartridge: Path, gpt2_like: Path, kind: str) -> None:
    """4 MB without a border in it, far from any time that is quadratic; a shorter one equals the reference."""
    code = f"""
    n = 1 << 22
    text = {LONG[kind]}
    engine = _core.Engine.open(path)
    ids, _ = engine.encode_ragged([text])
    assert engine.decode_bytes(ids) == text.encode()
    print(json.dumps(len(ids)))
    """
    assert run(code, cartridge) > 1000
    reference = Tokenizer.from_file(str(gpt2_like))
    engine = _core.Engine.open(str(cartridge))
    text = eval(LONG[kind], {"n": 30_000, "random": random})
    want = reference.encode(text)
    reference_impl.assert_same(engine.encode(text), want, kind)
    assert engine.encode_ids(text) == want.ids


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["letters", "phrase", "spaces", "CJK", "emoji"])
@pytest.mark.parametrize("name", NAMES)
def test_long_pieces_of_text_models(tmp_path: Path, name: str, kind: str) -> None:
    """A megabyte without a border in it; a shorter one equals the reference."""
    path = tmp_path / "text.dat"
    path.write_bytes(reference_impl.compiled(text_source(name).decode()))
    code = f"""
    n = 1 << 20
    text = {LONG[kind]}
    engine = _core.Engine.open(path)
    ids, _ = engine.encode_ragged([text])
    full = engine.encode(text)
    print(json.dumps(full.ids == ids.tolist() and all(0 <= a <= b <= len(text) for a, b in full.offsets)))
    """
    assert run(code, path)
    text = eval(LONG[kind], {"n": 10_000, "random": random})
    both = reference_impl.Both(text_source(name).decode())
    reference_impl.assert_same(both.engine.encode(text), both.reference.encode(text), kind)


@pytest.mark.slow
@pytest.mark.measures_memory
@linux
@pytest.mark.parametrize("name", ["llama_like", "bert_like", "t5_like", "word_level"])
def test_memory_of_text_models_is_bounded_on_new_words(tmp_path: Path, name: str) -> None:
    path = tmp_path / "text.dat"
    path.write_bytes(reference_impl.compiled(text_source(name).decode()))
    code = """
    engine = _core.Engine.open(path)
    letters = bytes(b"etaoinshrdlucmfwyp"[i % 18] if i % 7 else 32 for i in range(256))
    rng = random.Random(1)

    def encode():
        texts = [rng.randbytes(1 << 15).translate(letters).decode() for _ in range(16)]
        engine.encode_ragged(texts, threads=2)
        engine.encode(texts[0])

    for _ in range(2):
        encode()
    before = resident()
    for _ in range(10):
        encode()
    print(json.dumps(resident() - before))
    """
    assert run(code, path) < 40


@pytest.mark.parametrize("flags", [{"rstrip": True}, {"lstrip": True}, {"lstrip": True, "rstrip": True}], ids=str)
@pytest.mark.parametrize("normalized", [True, False])
def test_white_space_that_every_token_could_take(
    tmp_path: Path, flags: dict[str, bool], normalized: bool, cpu: str
) -> None:
    """A token that is white space and strips: each of a million could go through all the rest."""
    tokenizer = Tokenizer.from_str(json.dumps(reference_impl.byte_level_document()))
    tokenizer.add_tokens([AddedToken(" ", normalized=normalized, **flags)])
    both = reference_impl.Both(tokenizer.to_str())
    for text in (" " * 50, "a" + " " * 50, " " * 50 + "a", " a" * 20):
        both.check(text)
    path = tmp_path / "stripping.dat"
    path.write_bytes(reference_impl.compiled(tokenizer.to_str()))
    code = """
    engine = _core.Engine.open(path)
    print(json.dumps(engine.count_tokens([" " * (1 << 20)])))
    """
    (count,) = run(code, path)
    assert count == (1 if len(flags) == 2 else 1 << 20)


@pytest.mark.slow
def test_a_preempted_sweep_of_a_megabyte(tmp_path: Path, cpu: str) -> None:
    """Every merge of (a, b) makes a pair that comes first: sweeps alone would start over half a million times."""
    path = tmp_path / "preempting.dat"
    path.write_bytes(reference_impl.compiled(reference_impl.byte_level_document([(b"ab", b"c"), (b"a", b"b")])))
    code = """
    engine = _core.Engine.open(path)
    text, Way = b"abc" * 500_000, _core._testing.MergeWay
    by = [_core._testing.merge_pretoken(engine, text, way) for way in (Way.sweeps, Way.heap)]
    assert by[0] == by[1] == engine.encode_bytes(text)
    print(json.dumps(len(by[0])))
    """
    assert run(code, path) == 500_000


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["marks", "decomposed", "hangul", "special tokens", "almost special tokens"])
def test_long_texts_for_the_normalizer_and_added_tokens(qwen_like: Path, tmp_path: Path, kind: str, cpu: str) -> None:
    source = {
        "marks": "'a' + '\\u0323\\u0301' * (n // 4)",
        "decomposed": "'e\\u0301' * (n // 3)",
        "hangul": "'\\u1100\\u1161\\u11a8' * (n // 9)",
        "special tokens": "'<|im_start|>' * (n // 12)",
        "almost special tokens": "'<|im_start' * (n // 10)",
    }[kind]
    path = cartridge_of(qwen_like, tmp_path)
    code = f"""
    n = 1 << 22
    engine = _core.Engine.open(path)
    print(json.dumps(engine.count_tokens([{source}])))
    """
    assert run(code, path)[0] > 1000
    both = reference_impl.Both(qwen_like.read_text(encoding="utf-8"))
    both.check(eval(source, {"n": 6000}))
