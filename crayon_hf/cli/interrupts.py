"""Ctrl-C before there is anything to end in order."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def ending_at_once() -> Iterator[None]:
    """For imports: let Ctrl-C end the process as the system does, without a traceback.

    As an exception it would get lost: an import of numpy makes an ImportError of it.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
