"""Divides all sleeps of a Python process by a thousand, so that clients of a local Hub retry soon."""

import time

_sleep = time.sleep


def _sleep_less(seconds: float) -> None:
    _sleep(seconds / 1000)


time.sleep = _sleep_less
