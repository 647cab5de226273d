"""Reading, encoding and writing at the same time: each one batch ahead of the next."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from typing import TypeVar

from crayon_hf.corpora.storage import stopping

Read = TypeVar("Read")
Encoded = TypeVar("Encoded")

_PATIENCE = 2.0
"""Seconds. A reader that waits for a disk or a network longer than that is left behind; it writes nothing."""
_LOOKED = 0.2
"""Seconds between two looks whether the work is given up, while nothing is read."""


def overlap(
    read: Callable[[], Iterator[Read]],
    encode: Callable[[Read], Encoded],
    write: Callable[[Encoded], None],
) -> None:
    """Give `write` what `encode` makes of all that `read` gives, in order; the first error of the three is raised.

    What was read before an error is written. `encode` runs in the calling thread. At most four batches are about: being
    read, waiting, being encoded, being written. When this returns or raises, `write` is not called any more.

    Stopped: The work of this thread was stopped (`crayon_hf.corpora.storage.stopping`).
    """
    batches: SimpleQueue[tuple[Read] | BaseException | None] = SimpleQueue()  # an error, or None, is the end
    may_wait = threading.Semaphore(1)  # one batch in `batches`
    is_over = False

    def reading() -> None:
        try:
            read_batches = read()
            try:
                for batch in read_batches:
                    may_wait.acquire()
                    if is_over:
                        return
                    batches.put((batch,))
                    del batch  # its memory may be wanted for the next one
            finally:
                close = getattr(read_batches, "close", None)
                if close is not None:
                    close()
            batches.put(None)
        except BaseException as error:
            batches.put(error)

    reader = threading.Thread(target=reading, name="crayon-reading", daemon=True)
    with stopping.helpers(1, "crayon-writing") as writer:
        written: Future[None] = writer.submit(lambda: None)
        written.result()  # its thread is there, and is waited for whatever interrupts us
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
