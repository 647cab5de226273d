"""Read, encode and write at the same time, each one batch ahead of the next."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Generator
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from typing import TypeVar

from crayon_hf.corpora.storage import stopping

Read = TypeVar("Read")
Encoded = TypeVar("Encoded")

_PATIENCE = 2.0
"""Seconds to wait for the reader at the end. A reader blocked by a disk or network for longer is abandoned."""
_LOOKED = 0.2
"""Seconds between two checks for a stop while nothing is read."""


def overlap(
    read: Callable[[], Generator[Read, None, None]],
    encode: Callable[[Read], Encoded],
    write: Callable[[Encoded], None],
) -> None:
    """Pass all that `read` yields through `encode` to `write`, in order. Raises the first error of the three.

    Batches read before an error are written. `encode` runs in the calling thread. At most four batches exist at once:
    read, waiting, encoded, written. After the return or an error, `write` is not called again.

    Raises:
        Stopped: The work of this thread was stopped (`crayon_hf.corpora.storage.stopping`).
    """
    batches: SimpleQueue[tuple[Read] | BaseException | None] = SimpleQueue()  # an error, or None, comes last
    may_wait = threading.Semaphore(1)  # `batches` holds at most one batch
    is_over = False

    def reading() -> None:
        try:
            with contextlib.closing(read()) as read_batches:
                for batch in read_batches:
                    may_wait.acquire()
                    if is_over:
                        return
                    batches.put((batch,))
                    del batch  # frees its memory for the next batch
            batches.put(None)
        except BaseException as error:
            batches.put(error)

    reader = threading.Thread(target=reading, name="crayon-reading", daemon=True)
    with stopping.helpers(1, "crayon-writing") as writer:
        written: Future[None] = writer.submit(lambda: None)
        written.result()  # starts the writer's thread, so that every exit waits for it
        reader.start()
        try:
            while isinstance(batch := _next(batches), tuple):
                may_wait.release()
                stopping.check()
                encoded = encode(*batch)
                written.result()
                written = writer.submit(write, encoded)
                del batch, encoded
            written.result()
            if batch is not None:
                raise batch
        finally:
            is_over = True
            may_wait.release()
            reader.join(_PATIENCE)


def _next(batches: SimpleQueue[Read]) -> Read:
    while True:
        try:
            return batches.get(timeout=_LOOKED)
        except Empty:
            stopping.check()
