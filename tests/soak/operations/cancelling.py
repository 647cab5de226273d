"""Work that is given up half way."""

from __future__ import annotations

import io
import os
import signal
import threading
import time
from collections.abc import Callable

import crayon_hf
from tests.soak.table import Difference
from tests.soak.world import Run


def interrupt(run: Run) -> None:
    """Ctrl-C in the middle of anything. In the main thread alone: no other gets it."""
    of = run.material

    def file() -> None:
        for _ in run.subject.tokenizer.encode_file(run.subject.text, chunk_bytes=10_000):
            pass

    def train() -> None:
        crayon_hf.train_bpe(iter([of.large]), vocab_size=2000, show_progress=False)

    def one_by_one() -> None:
        for text in of.texts:
            run.subject.tokenizer.encode(text)

    works: list[Callable[[], object]] = [
        file,
        train,
        one_by_one,
        lambda: run.subject.tokenizer.encode_batch([*of.texts, of.large], threads=2),
        lambda: run.subject.tokenizer.encode_ragged([*of.texts, of.large]),
        lambda: run.subject.tokenizer.decode_batch(of.whole),
        lambda: list(crayon_hf.Tokenizer.from_file(run.subject.json).get_vocab()),
    ]
    work = run.rng.choice(works)
    timer = threading.Timer(run.rng.uniform(0.001, 0.05), os.kill, (os.getpid(), signal.SIGINT))
    try:
        timer.start()
        stop = time.monotonic() + 60
        # Python drops an exception that is raised where none can be, so it may have to be sent again.
        while time.monotonic() < stop:
            work()
            if not timer.is_alive():
                os.kill(os.getpid(), signal.SIGINT)
        raise Difference("a minute of interrupts, and none arrived")
    except KeyboardInterrupt:
        run.expected_errors += 1
    timer.join()
    run.check(run.subject.tokenizer, what="encode after an interrupt")


def leave_file(run: Run) -> None:
    """A generator of chunks is closed, or forgotten, half way."""
    of = run.material
    file = run.subject.text if run.rng.random() < 0.5 else io.BytesIO(of.large.encode())
    chunks = run.subject.tokenizer.encode_file(file, chunk_bytes=run.rng.randrange(1000, 50_000))
    for _ in range(run.rng.randrange(4)):
        next(chunks, None)  # a text without seams is one chunk
    if run.rng.random() < 0.5:
        chunks.close()  # type: ignore[attr-defined]
    del chunks
    run.check(run.subject.tokenizer, what="encode after a file that was left")


def failing_source(run: Run) -> None:
    """What texts come from raises: from an iterator, from a file."""

    class Failing(io.RawIOBase):
        def readable(self) -> bool:
            return True

        def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
            if self.tell_times > 3:
                raise ConnectionResetError("as a socket does")
            self.tell_times += 1
            buffer[:4] = b"abc "
            return 4

        tell_times = 0

    with run.refused(ConnectionResetError):
        for _ in run.subject.tokenizer.encode_file(Failing()):  # type: ignore[arg-type]
            pass
    run.check(run.subject.tokenizer)
