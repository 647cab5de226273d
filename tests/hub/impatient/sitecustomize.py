"""For clients of a local Hub: what they wait between two tries is cut to a thousandth, and nothing else is changed."""

import time

_sleep = time.sleep


def _sleep_less(seconds: float) -> None:
    _sleep(seconds / 1000)


time.sleep = _sleep_less
