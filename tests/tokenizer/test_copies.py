"""Tokenizers that are copied, pickled, and shared between processes and threads."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
import shutil
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest
import tokenizers

from crayon_hf import CartridgeError, SourceMissingError, Tokenizer, _core
from crayon_hf.util.files import HeldFile
from tests.support.versions import before_1

TEXT = "Hello, world! <|endoftext|> It's 2024 and naïve."


PICKLED = pytest.param(
    lambda t: pickle.loads(pickle.dumps(t)), marks=before_1("name for what 0.23 pickles: the reference is beside it")
)


@pytest.fixture
def ours(gpt2_like):
    return Tokenizer.from_file(gpt2_like)


@pytest.mark.parametrize("twin_of", [copy.copy, copy.deepcopy, PICKLED])
def test_twins(ours, gpt2_like, twin_of):
    """As with the reference's, no twin reads special tokens as text, for it is what was written and read."""
    reference = tokenizers.Tokenizer.from_file(str(gpt2_like))
    twins = []
    for one in (ours, reference):
        one.encode_special_tokens = True
        one.enable_truncation(9)
        twins.append(twin_of(one))
        assert one.encode_special_tokens is True
        assert twins[-1].encode_special_tokens is False
        assert twins[-1].encode(TEXT).ids != one.encode(TEXT).ids
        assert twins[-1].to_str() == one.to_str()
    assert twins[0].encode(TEXT).ids == twins[1].encode(TEXT).ids


@pytest.mark.parametrize("twin_of", [copy.copy, copy.deepcopy, PICKLED])
@pytest.mark.parametrize("native", [True, False])
def test_twin_forgets_what_was_special_once(request, gpt2_like, wordpiece_like, native, twin_of):
    """As the reference's does: a copy of it is written and read."""
    if not native:
        request.getfixturevalue("refusing")
    path = gpt2_like if native else wordpiece_like
    said = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kind in (Tokenizer, tokenizers.Tokenizer):
            one = kind.from_file(str(path))
            one.add_special_tokens(["<x>", "<y>"])
            one.add_tokens([tokenizers.AddedToken("<x>", special=False, lstrip=True)])
            ids = one.encode("a <x> <y> a").ids
            twins = [one, twin_of(one), twin_of(twin_of(one)), one]
            said.append([twin.decode(ids, skip_special_tokens=skip) for twin in twins for skip in (True, False)])
            said[-1].append(twins[1].encode("a <x> <y> a").ids)
            said[-1].append(twins[1].to_str())
    assert said[0] == said[1]
    assert said[0][0] != said[0][2]


def test_unpickled_where_the_files_are_not(gpt2_like, tmp_path, monkeypatch):
    """As in another machine: the pickle holds the vocabulary."""
    monkeypatch.setenv("CRAYON_CACHE_DIR", str(tmp_path / "here"))
    ours = Tokenizer.from_file(gpt2_like)
    data = pickle.dumps(ours)
    (tmp_path / "here").rename(tmp_path / "gone")
    monkeypatch.setenv("CRAYON_CACHE_DIR", str(tmp_path / "there"))
    twin = pickle.loads(data)
    assert twin.encode(TEXT).ids == ours.encode(TEXT).ids
    assert twin.to_str() == ours.to_str()
    assert twin.engine_report()["cartridge"].startswith(str(tmp_path / "there"))


def test_pickled_from_memory(gpt2_like):
    ours = Tokenizer.from_str(gpt2_like.read_text(encoding="utf-8"))
    assert pickle.loads(pickle.dumps(ours)).encode(TEXT).ids == ours.encode(TEXT).ids


holds_files = pytest.mark.skipif(not hasattr(os, "pread"), reason="no file can be held open here")


@holds_files
def test_lives_on_when_its_files_are_gone(gpt2_like, llama3_like, tmp_path, monkeypatch):
    monkeypatch.setenv("CRAYON_CACHE_DIR", str(tmp_path / "cache"))
    path = shutil.copy(gpt2_like, tmp_path / "x.json")
    expected = Tokenizer.from_file(path).to_str()
    for vanish in (os.remove, lambda path: os.replace(shutil.copy(llama3_like, tmp_path / "y.json"), path)):
        shutil.copy(gpt2_like, path)
        ours = Tokenizer.from_file(path)
        shutil.rmtree(tmp_path / "cache")
        vanish(path)
        assert ours.to_str() == expected
        assert ours.model is not None
        for twin in (copy.deepcopy(ours), pickle.loads(pickle.dumps(ours))):
            assert twin.encode(TEXT).ids == ours.encode(TEXT).ids
            assert twin.to_str() == expected
        ours.save(tmp_path / "saved.json", pretty=False)
        assert (tmp_path / "saved.json").read_text(encoding="utf-8") == expected
        ours.save(tmp_path / "saved.dat")
        assert Tokenizer.from_file(tmp_path / "saved.dat").to_str() == expected


def test_file_that_was_overwritten_in_place(gpt2_like, llama3_like, tmp_path):
    path = tmp_path / "x.json"
    shutil.copy(gpt2_like, path)
    ours = Tokenizer.from_file(path)
    path.write_bytes(llama3_like.read_bytes())
    with pytest.raises(SourceMissingError, match="is not the file"):
        ours.to_str()
    path.write_bytes(gpt2_like.read_bytes())
    assert ours.to_str() == Tokenizer.from_file(gpt2_like).to_str()


counts_descriptors = pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="descriptors cannot be counted here")


def descriptors():
    return len(os.listdir("/proc/self/fd"))


@holds_files
@counts_descriptors
def test_held_files_are_few_and_given_back(gpt2_like, tmp_path):
    before = descriptors()
    tokenizers = [Tokenizer.from_file(gpt2_like) for _ in range(100)]
    assert before < descriptors() <= before + 64
    assert len({tokenizer.to_str() for tokenizer in tokenizers}) == 1
    tokenizers.clear()
    assert descriptors() <= before


@holds_files
def test_descriptor_that_somebody_else_closed(tmp_path):
    (tmp_path / "a").write_bytes(b"a")
    (tmp_path / "b").write_bytes(b"b")
    file = HeldFile(str(tmp_path / "a"))
    descriptor = file._held.fileno()
    os.close(descriptor)
    with open(tmp_path / "b", "rb") as other:
        os.dup2(other.fileno(), descriptor)
        assert file.read() == b"a"
        del file
        assert os.read(descriptor, 1) == b"b"
        if descriptor != other.fileno():
            os.close(descriptor)


@holds_files
@counts_descriptors
@pytest.mark.parametrize("name", ["fifo", "directory", "missing", "nul\0"])
def test_what_is_no_file_is_not_held(name, tmp_path):
    path = tmp_path / name
    if name == "fifo":
        os.mkfifo(path)
    elif name == "directory":
        path.mkdir()
    before = _core.HeldFile.count(), descriptors()
    with pytest.raises(ValueError if "\0" in name else OSError):
        _core.HeldFile(path)
    assert (_core.HeldFile.count(), descriptors()) == before


INTERRUPTED = """
import os, shutil, signal, sys

from crayon_hf import Tokenizer
from crayon_hf.util.files import HeldFile

path, what = sys.argv[1:]


def work():
    if what == "held":
        HeldFile(path)
    else:
        Tokenizer.from_file(path)


work()
signal.signal(signal.SIGALRM, signal.default_int_handler)
arrived = 0
while arrived < 250:
    try:
        if what == "compiled":
            shutil.rmtree(os.environ["CRAYON_CACHE_DIR"], ignore_errors=True)
        signal.setitimer(signal.ITIMER_REAL, 5e-5 + 7e-6 * arrived, 0.5)  # again, where it was dropped
        while True:
            work()
    except KeyboardInterrupt:
        arrived += 1
signal.setitimer(signal.ITIMER_REAL, 0)
names = [os.path.realpath(f"/proc/self/fd/{number}") for number in os.listdir("/proc/self/fd")]
print([name for name in names if name.startswith(os.path.dirname(path))])
"""


@counts_descriptors
@pytest.mark.parametrize("work", ["held", "opened", "compiled"])
def test_interrupts_lose_no_descriptor(work, gpt2_like, tmp_path):
    path = (tmp_path / "a").resolve()
    shutil.copy(gpt2_like, path)
    command = [sys.executable, "-c", INTERRUPTED, str(path), work]
    environment = os.environ | {"CRAYON_CACHE_DIR": str(tmp_path / "cache")}
    ran = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert ran.stdout == "[]\n"
    assert not list(tmp_path.glob("cache/**/.*.tmp"))


def test_lone_cartridge_is_pickled_by_its_path(ours, llama3_like, tmp_path):
    ours.save(tmp_path / "x.dat")
    (tmp_path / "x.json").unlink()
    lone = Tokenizer.from_file(tmp_path / "x.dat")
    data = pickle.dumps(lone)
    assert len(data) < 1000
    assert pickle.loads(data).encode(TEXT).ids == ours.encode(TEXT).ids
    Tokenizer.from_file(llama3_like).save(tmp_path / "x.dat")
    with pytest.raises(CartridgeError, match=r"x\.dat is not the cartridge"):
        pickle.loads(data)
    (tmp_path / "x.dat").unlink()
    with pytest.raises(FileNotFoundError):
        pickle.loads(data)


def test_delegated_is_pickled_without_another_warning(refusing, wordpiece_like):
    with pytest.warns(UserWarning, match="not supported by"):
        ours = Tokenizer.from_file(wordpiece_like)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for twin in (copy.copy(ours), pickle.loads(pickle.dumps(ours))):
            assert twin.engine == "delegated"
            assert twin.encode(TEXT).ids == ours.encode(TEXT).ids
            assert twin.to_str() == ours.to_str()


def count(tokenizer: Tokenizer) -> int:
    return tokenizer.count_tokens(TEXT)


@pytest.mark.skipif(os.name == "nt", reason="fork")
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes(ours, method):
    # Both ways into a child: as it is in a fork, pickled to a new process.
    expected = ours.count_tokens(TEXT)
    ours.encode_batch([TEXT] * 100, threads=2)
    child = "import pickle, sys; print(pickle.load(sys.stdin.buffer).count_tokens(sys.argv[1]))"
    if method == "fork":
        with multiprocessing.get_context("fork").Pool(2) as pool:
            assert pool.map(count, [ours] * 4) == [expected] * 4
    else:
        import subprocess
        import sys

        done = subprocess.run([sys.executable, "-c", child, TEXT], input=pickle.dumps(ours), capture_output=True)
        assert (done.stdout.strip(), done.stderr) == (str(expected).encode(), b"")


@pytest.mark.concurrency
def test_threads(ours):
    texts = [f"{TEXT} {i}" * (i % 7) for i in range(200)]
    expected = [ours.encode(text).ids for text in texts]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(3):
            assert list(pool.map(lambda text: ours.encode(text).ids, texts)) == expected
