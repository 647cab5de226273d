"""For clients of a local Hub: divides their waits between retries by a thousand."""

import time

_sleep = time.sleep


def _sleep_less(seconds: float) -> None:
    _sleep(seconds / 1000)


time.sleep = _sleep_less
