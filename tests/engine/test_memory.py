"""Memory: processes share cartridges, working memory is bounded, long pretokens are harmless."""

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


# glibc keeps up to twice the largest freed block. With these settings it returns memory at once, so that memory still
# in use belongs to the engine.
FRUGAL = os.environ | {"MALLOC_TRIM_THRESHOLD_": "131072", "MALLOC_MMAP_THRESHOLD_": "131072"}


def run(code: str, cartridge: Path, timeout: int = 60) -> Any:
    """Run code in a new process and return its output, parsed as JSON. The process is killed after `timeout`
    seconds."""
    command = [sys.executable, "-c", PRELUDE + textwrap.dedent(code), str(cartridge)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=timeout, check=False, cwd=cartridge.parent, env=FRUGAL
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def source_of(request: pytest.FixtureRequest, name: str) -> bytes:
    return text_source(name) if name in NAMES else request.getfixturevalue(name).read_bytes()


@pytest.fixture(scope="module")
def cartridge(gpt2_like: Path, tmp_path_factory: pytest.TempPathFactory, cpu: str) -> Path:
    path = tmp_path_factory.mktemp("cartridges") / "gpt2_like.dat"
    path.write_bytes(_core.compile_tokenizer_json(gpt2_like.read_bytes()))
    return path


@linux
def test_processes_share_the_pages(cartridge: Path) -> None:
    """This process has mapped all pages of a cartridge. Another process that encodes with it shares the pages, and has
    no private copy."""
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
@pytest.mark.parametrize("name", ["gpt2_like", "llama_like", "t5_like"])
def test_memory_is_bounded_on_new_words(request: pytest.FixtureRequest, tmp_path: Path, name: str) -> None:
    """Encoding a megabyte of new words in each round, the caches and the memo grow until they are full; nothing else grows.

    When they are full depends on the machine: on a busy machine a thread gets its first task late. So rounds repeat
    until forty in a row, 40 MB of new words, add almost nothing. A leak would make that impossible.
    """
    path = tmp_path / "vocabulary.dat"
    path.write_bytes(_core.compile_tokenizer_json(source_of(request, name)))
    code = """
    engine = _core.Engine.open(path)
    letters = bytes(b"etaoinshrdlucmfwyp"[i % 18] if i % 7 else 32 for i in range(256))
    rng = random.Random(1)

    def texts():
        return [rng.randbytes(1 << 16).translate(letters).decode() for _ in range(8)]

    def encode():
        engine.encode_ragged(texts(), threads=2)
        engine.count_tokens(texts(), threads=2)
        engine.encode_ids(texts()[0])

    before = settled = resident()
    quiet = rounds = 0
    while quiet < 40 and rounds < 600:
        encode()
        rounds += 1
        quiet += 1
        if resident() > settled + 8:
            settled, quiet = resident(), 0
    print(json.dumps([quiet, resident() - before]))
    """
    quiet, grown = run(code, path, timeout=120)
    assert quiet == 40
    assert grown < 200  # two generations of a useless memo, and the caches of two threads


LONG = {
    "letters": "''.join(random.Random(1).choices('etaoinshr', k=n))",
    "phrase": "('abcdefghij' * (n // 10 + 1))[:n]",
    "spaces": "' ' * n",
    "punctuation": "'!?.' * (n // 3)",
    "digits": "'1' * n",
    "CJK": "''.join(chr(c) for c in random.Random(1).choices(range(0x4e00, 0x5000), k=n // 3))",
    "emoji": "'\\U0001f642' * (n // 4)",
    "unspaced code": "('self.x=' * n)[:n]",
    "marks": "'a' + '\\u0323\\u0301' * (n // 4)",
    "hangul": "'\\u1100\\u1161\\u11a8' * (n // 9)",
    "almost special tokens": "'<|im_start' * (n // 10)",
}
WHAT = [
    *(("gpt2_like", kind) for kind in ("letters", "phrase", "spaces", "punctuation", "CJK", "unspaced code")),
    *(("qwen_like", kind) for kind in ("digits", "marks", "hangul", "almost special tokens")),
    *((name, kind) for name in NAMES for kind in ("letters", "spaces", "emoji")),
]


@pytest.mark.slow
@pytest.mark.parametrize(("vocabulary", "kind"), WHAT)
def test_long_texts(request: pytest.FixtureRequest, tmp_path: Path, vocabulary: str, kind: str) -> None:
    """A text of megabytes that is one pretoken takes linear time. For a shorter text of the kind, the ids equal the
    reference's."""
    source = source_of(request, vocabulary)
    path = tmp_path / "vocabulary.dat"
    path.write_bytes(_core.compile_tokenizer_json(source))
    short = eval(LONG[kind], {"n": 10_000, "random": random})
    code = f"""
    n = {1 << (20 if vocabulary in NAMES else 22)}
    text = {LONG[kind]}
    engine = _core.Engine.open(path)
    ids, _ = engine.encode_ragged([text])
    print(json.dumps(len(ids)))
    """
    has_ids = len(_core.Engine.open(path).encode_ragged([short])[0]) > 0  # some models give white space no ids
    assert (run(code, path) > 0) == has_ids
    reference_impl.Both(source.decode()).check(short)


@pytest.mark.parametrize("flags", [{"rstrip": True}, {"lstrip": True}, {"lstrip": True, "rstrip": True}], ids=str)
@pytest.mark.parametrize("normalized", [True, False])
def test_white_space_that_every_token_could_take(
    tmp_path: Path, flags: dict[str, bool], normalized: bool, cpu: str
) -> None:
    """Each of a million spaces in a text is an added token that takes the white space around it, so each could scan all
    the rest."""
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
