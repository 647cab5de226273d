"""Reading, encoding and writing at the same time: each one batch ahead of the next."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from crayon_hf.xerv.bounded_queue import Channel, Ended

Read = TypeVar("Read")
Encoded = TypeVar("Encoded")

_PATIENCE = 2.0
"""Seconds. A reader that waits for a disk or a network longer than that is left behind; it writes nothing."""


def overlap(
    read: Callable[[], Iterator[Read]], encode: Callable[[Read], Encoded], write: Callable[[Encoded], None]
) -> None:
    """Give `write` what `encode` makes of all that `read` gives, in order; the first error of the three is raised.

    What was read before an error is written. `encode` runs in the calling thread. At most five batches are about: being
    read, waiting, being encoded, waiting, being written. When this returns or raises, `write` is not called any more.
    """
    to_encode: Channel[Any] = Channel(1)
    to_write: Channel[Any] = Channel(1)
    errors: list[BaseException] = []

    def reading() -> None:
        try:
            batches = read()
            try:
                for batch in batches:
                    to_encode.put(batch)
                    del batch  # its memory may be wanted for the next one
            finally:
                close = getattr(batches, "close", None)
                if close is not None:
                    close()
        except Ended:
            pass
        except BaseException as error:
            errors.append(error)
        to_encode.end()

    def writing() -> None:
        try:
            while True:
                write(to_write.get())
        except Ended:
            pass
        except BaseException as error:
            errors.insert(0, error)
            to_write.cancel()
            to_encode.cancel()

    reader = threading.Thread(target=reading, name="crayon-reading", daemon=True)
    writer = threading.Thread(target=writing, name="crayon-writing", daemon=True)
    reader.start()
    writer.start()
    try:
        while True:
            to_write.put(encode(to_encode.get()))
    except Ended:
        to_write.end()
    except BaseException:
        to_write.cancel()
        raise
    finally:
        to_encode.cancel()
        writer.join()
        reader.join(_PATIENCE)
    if errors:
        raise errors[0]
