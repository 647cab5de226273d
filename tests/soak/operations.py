"""The operations that a soak repeats: each compares results with the reference's, or expects a typed error."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import io
import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import crayon_hf
from crayon_hf import CrayonVocab, DecodeStream, Pipeline, Tokenizer, _core
from crayon_hf.errors import InvalidUtf8Error, TokenIdError, VocabularyError
from tests.soak.world import TRAINING, Run, lines_of

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 120
"""Seconds after which a child process counts as hanging."""


def open_it(run: Run) -> None:
    """Open the vocabulary in each way, and compare."""
    subject = run.subject
    ways: list[Callable[[], Tokenizer]] = [
        lambda: Tokenizer.from_file(subject.json),
        lambda: Tokenizer.from_buffer(subject.material.source),
        lambda: Tokenizer.from_file(subject.cartridge),
        lambda: Tokenizer.from_profile(subject.material.name),
    ]
    run.check(run.rng.choice(ways)())


def open_engine(run: Run) -> None:
    """Open the engine without a `Tokenizer`: from a mapped cartridge, perhaps verified, or from bytes in memory."""
    engine = _core.Engine.open(str(run.subject.cartridge), verify=run.rng.random() < 0.5)
    if run.rng.random() < 0.3:
        engine = _core.Engine.from_bytes(run.subject.cartridge.read_bytes())
    run.same(engine.encode_lists(run.material.texts, False), run.material.ids, "encode_lists")


def empty_cache(run: Run) -> None:
    """Delete the cache directory while other threads open tokenizers from it, and open one again."""
    with contextlib.suppress(OSError):  # another run deletes it, too
        shutil.rmtree(run.world.home / "cache")
    run.check(Tokenizer.from_file(run.subject.json))


# -- encoding and decoding


def _ragged(ids: Any, splits: Any) -> list[list[int]]:
    return [ids[a:b].tolist() for a, b in pairwise(splits)]


def _async(tokenizer: Tokenizer, texts: list[str]) -> list[list[int]]:
    async def work() -> list[list[int]]:
        left = tokenizer.async_encode(texts[0])
        asyncio.ensure_future(left).cancel()
        batch = await tokenizer.async_encode_batch(texts, add_special_tokens=False)
        return [one.ids for one in batch]

    return asyncio.run(work())


def _pipeline(tokenizer: Tokenizer, texts: list[str]) -> list[list[int]]:
    with Pipeline(lambda text: tokenizer.encode(text, add_special_tokens=False).ids, workers=2) as pipeline:
        found = [result["input_ids"] for result in pipeline.map(texts)]
    left = Pipeline(tokenizer, workers=2)
    for key, text in enumerate(texts[:4]):
        left.submit(key, text)
    left.cancel()
    return found


WAYS: dict[str, Callable[[Tokenizer, list[str]], list[list[int]]]] = {
    "encode": lambda it, texts: [it.encode(text, add_special_tokens=False).ids for text in texts],
    "encode_batch": lambda it, texts: [one.ids for one in it.encode_batch(texts, add_special_tokens=False, threads=2)],
    "encode_ragged": lambda it, texts: _ragged(*it.encode_ragged(texts, False, 3)),
    "encode_ragged of bytes": lambda it, texts: _ragged(*it.encode_ragged([text.encode() for text in texts], False)),
    "encode_file": lambda it, texts: [
        [
            id
            for chunk in it.encode_file(io.BytesIO(text.encode()), add_special_tokens=False)
            for id in chunk.ids.tolist()
        ]
        for text in texts
    ],
    "async_encode_batch": _async,
    "Pipeline": _pipeline,
}


def encode(run: Run) -> None:
    """Encode some texts with any of the calls that give ids."""
    numbers, way = run.some(), run.rng.choice(list(WAYS))
    ids = WAYS[way](run.subject.tokenizer, [run.material.texts[i] for i in numbers])
    run.same(ids, [run.material.ids[i] for i in numbers], way)


def encode_whole(run: Run) -> None:
    """Encode texts with special tokens and offsets, count tokens, and encode columns."""
    of, numbers, tokenizer = run.material, run.some(60), run.subject.tokenizer
    texts, whole = [of.texts[i] for i in numbers], [of.whole[i] for i in numbers]
    batch = tokenizer.encode_batch(texts, add_special_tokens=False, threads=run.rng.randrange(4))
    run.same([one.offsets for one in batch], [of.offsets[i] for i in numbers], "offsets of encode_batch")
    run.same([one.ids for one in tokenizer.encode_batch_fast(texts)], whole, "encode_batch_fast")
    run.same(tokenizer.count_tokens(texts), [len(ids) for ids in whole], "count_tokens")
    columns = tokenizer.encode_columns(texts, columns=["input_ids"])
    if columns is not None:
        run.same(columns["input_ids"], whole, "encode_columns")


def encode_large(run: Run) -> None:
    """Encode a text so large that threads share it, and a file, mapped or read, in windows of any size."""
    of, tokenizer = run.material, run.subject.tokenizer
    run.same(tokenizer.encode_ragged([of.large], False, 3)[0].tolist(), of.large_ids, "encode_ragged")
    file = run.subject.text if run.rng.random() < 0.5 else io.BytesIO(of.large.encode())
    size = run.rng.choice([5_000, 100_000, 1 << 20])
    chunks = tokenizer.encode_file(file, chunk_bytes=size, offsets=run.rng.random() < 0.3, add_special_tokens=False)
    run.same(np.concatenate([chunk.ids for chunk in chunks]).tolist(), of.large_ids, "encode_file")


def decode(run: Run) -> None:
    """Decode rows of ids: singly, in a batch, and id by id in a stream."""
    of, numbers, tokenizer = run.material, run.some(60), run.subject.tokenizer
    wanted = [of.decoded[i] for i in numbers]
    run.same([tokenizer.decode(of.whole[i]) for i in numbers], wanted, "decode")
    run.same(tokenizer.decode_batch([of.whole[i] for i in numbers], threads=2), wanted, "decode_batch")
    for i in numbers[:4]:
        stream = DecodeStream(skip_special_tokens=True)
        got = "".join(stream.step(tokenizer, id) or "" for id in of.whole[i])
        if "\ufffd" not in of.decoded[i]:  # a stream keeps an incomplete character at the end
            run.same(got, of.decoded[i], "DecodeStream")


def train(run: Run) -> None:
    """Train, and compare merges and vocabulary with the reference's. Then train with a progress callback that
    raises."""
    texts = lines_of(run.material.large)
    trained = crayon_hf.train_bpe(iter(texts), pattern="gpt2", show_progress=False, **TRAINING)  # type: ignore[arg-type]
    model = json.loads(trained.to_str())["model"]
    run.same([model["merges"], model["vocab"]], [run.material.trained[key] for key in ("merges", "vocab")], "train_bpe")

    def report(*_: object) -> None:
        raise InterruptedError

    with run.refused(InterruptedError):
        crayon_hf.train_bpe(iter(texts), pattern="gpt2", show_progress=report, **TRAINING)  # type: ignore[arg-type]


# -- replacing things in use


@contextlib.contextmanager
def _meanwhile(work: Callable[[], object]) -> Iterator[None]:
    """Repeat a function in a thread while the `with` block runs."""
    ended = threading.Event()

    def over_and_over() -> None:
        while not ended.wait(0.001):
            work()

    thread = threading.Thread(target=over_and_over)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def replace_cartridge(run: Run) -> None:
    """Rename another cartridge over one that is being opened and used: each opened engine has one of the two
    vocabularies."""
    both = [run.subject, run.rng.choice(run.world.subjects)]
    by_digest = {subject.tokenizer.source_digest: subject.material for subject in both}
    with run.place() as place:

        def swap() -> None:
            for subject in both:
                shutil.copyfile(subject.cartridge, place / "new")
                os.replace(place / "new", place / "swapped.dat")

        swap()
        with _meanwhile(swap):
            for i in range(6):
                engine = _core.Engine.open(str(place / "swapped.dat"), verify=i % 2 == 0)
                of = by_digest[engine.source_digest]
                run.same(engine.encode_lists(of.texts[:9], False), of.ids[:9], "a replaced cartridge")


def swap_profiles(run: Run) -> None:
    """A CrayonVocab loads other profiles while it encodes batches: each batch has the ids of a single vocabulary."""
    other = run.rng.choice(run.world.subjects)
    texts = [run.material.texts[i] for i in run.some()]
    wanted = [WAYS["encode_ragged"](subject.tokenizer, texts) for subject in (run.subject, other)]
    vocab = CrayonVocab()
    vocab.load_profile(run.material.name)

    def swap() -> None:
        with vocab.using_profile(other.material.name):
            pass
        vocab.load_profile(run.material.name)

    with _meanwhile(swap):
        for _ in range(10):
            run.same(vocab.tokenize(texts) in wanted, True, "a batch while profiles are swapped")
    vocab.close()


def change_copy(run: Run) -> None:
    """Copy or pickle the tokenizer, and change the copy; the original is unchanged."""
    copied = run.rng.choice([copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
    tokenizer = copied(run.subject.tokenizer)
    run.check(tokenizer, "a copy")
    token = f"<added {run.rng.randrange(10**6)}>"
    tokenizer.add_special_tokens([token])
    ids = tokenizer.encode(token + token, add_special_tokens=False).ids
    run.same(ids, [tokenizer.token_to_id(token)] * 2, "an added token")
    run.check(run.subject.tokenizer)


# -- other processes


def fork(run: Run) -> None:
    """A child of fork() encodes, decodes and opens tokenizers, whatever threads of the parent were doing."""
    of = run.material
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # warns of threads, which are the purpose
        child = os.fork()
    if child == 0:
        signal.alarm(PATIENCE)  # ends a child that hangs
        code = 1
        try:
            run.same(WAYS["encode_batch"](run.subject.tokenizer, of.texts), of.ids, "encode_batch")
            opened = Tokenizer.from_file(run.subject.cartridge)
            run.same(opened.decode(of.whole[0]), of.decoded[0], "decode")
            code = 0
        finally:
            os._exit(code)
    run.same(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0, "the exit status of a forked child")


CHILD = """
import pickle, sys
tokenizer, texts = pickle.load(sys.stdin.buffer)
while True:
    sys.stdout.buffer.write(pickle.dumps([one.ids for one in tokenizer.encode_batch(texts, add_special_tokens=False)]))
    sys.stdout.flush()
"""


def kill(run: Run) -> None:
    """A new process gets a pickled tokenizer and encodes from the same cartridge until it is killed."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path, str(ROOT)])}
    given = pickle.dumps((run.subject.tokenizer, run.material.texts))
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", CHILD], env=environment, stdin=pipe, stdout=pipe) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(given)
        process.stdin.close()
        run.same(pickle.load(process.stdout), run.material.ids, "a spawned child")
        process.kill()
    run.check(Tokenizer.from_file(run.subject.json))


# -- abandoned work, and bad input


def interrupt(run: Run) -> None:
    """Ctrl-C interrupts a call at any moment. Only the main thread runs this operation: others do not receive
    Ctrl-C."""
    of, tokenizer = run.material, run.subject.tokenizer
    works: list[Callable[[], object]] = [
        lambda: list(tokenizer.encode_file(run.subject.text, chunk_bytes=10_000)),
        lambda: crayon_hf.train_bpe(iter([of.large]), vocab_size=2000, show_progress=False),
        lambda: WAYS["encode"](tokenizer, of.texts),
        lambda: tokenizer.encode_batch([*of.texts, of.large], threads=2),
        lambda: tokenizer.encode_ragged([*of.texts, of.large]),
        lambda: tokenizer.decode_batch(of.whole),
        lambda: Tokenizer.from_file(run.subject.json),
    ]
    work = run.rng.choice(works)
    timer = threading.Timer(run.rng.uniform(0.001, 0.05), os.kill, (os.getpid(), signal.SIGINT))
    with run.refused(KeyboardInterrupt):
        timer.start()
        stop = time.monotonic() + 60
        # Python drops exceptions in places such as finalizers, so the signal is sent until it is noticed.
        while time.monotonic() < stop:
            work()
            if not timer.is_alive():
                os.kill(os.getpid(), signal.SIGINT)
    timer.join()
    run.check(tokenizer, "encode after an interrupt")


def leave_file(run: Run) -> None:
    """A generator of `encode_file` is closed or forgotten midway, or reading its file raises."""

    class Failing(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            return self._failed() if self.tell() else super().read(4)

        def readinto(self, buffer: Any) -> int:
            return self._failed() if self.tell() else super().readinto(memoryview(buffer)[:4])

        def _failed(self) -> Any:
            raise ConnectionResetError("as a socket does")

    tokenizer = run.subject.tokenizer
    chunks = tokenizer.encode_file(run.subject.text, chunk_bytes=run.rng.randrange(1000, 50_000))
    for _ in range(run.rng.randrange(4)):
        next(chunks, None)  # a text without seams has one chunk
    del chunks
    with run.refused(ConnectionResetError):
        list(tokenizer.encode_file(Failing(b"abc " * 9)))
    run.check(tokenizer, "encode after a file that was left")


def bad_input(run: Run) -> None:
    """Calls with invalid UTF-8 among good texts, other types than text, unknown ids or a truncated source raise typed
    errors."""
    of, tokenizer = run.material, run.subject.tokenizer
    bad = run.rng.choice([b"\xff", b"abc\xe2\x82", b"\xed\xa0\x80", b"\xc0\x80"])
    with run.refused(InvalidUtf8Error):
        tokenizer.encode_ragged([*of.texts, bad])
    with run.refused(InvalidUtf8Error):
        list(tokenizer.encode_file(io.BytesIO(of.large.encode() + bad), chunk_bytes=10_000))
    with run.refused(TypeError):
        tokenizer.encode_batch([*of.texts, None])  # type: ignore[list-item]
    with run.refused(TokenIdError):
        tokenizer.decode([*of.whole[0], run.rng.choice([-1, 1 << 21, 1 << 40, 1 << 70])], unknown_ids="error")
    with run.refused(VocabularyError):
        Tokenizer.from_buffer(of.source[: run.rng.randrange(len(of.source))])
    run.check(tokenizer)


Operation = Callable[[Run], None]

ANYWHERE: dict[Operation, int] = {
    open_it: 20,
    open_engine: 10,
    empty_cache: 1,
    encode: 60,
    encode_whole: 30,
    encode_large: 10,
    decode: 20,
    train: 3,
    replace_cartridge: 2,
    swap_profiles: 3,
    change_copy: 10,
    fork: 4,
    leave_file: 5,
    bad_input: 8,
}
"""The operations, each with its relative frequency."""
MAIN_THREAD: dict[Operation, int] = {interrupt: 30, kill: 3}
