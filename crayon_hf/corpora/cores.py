"""How many cores this process may use."""

import os


def cores() -> int:
    """Those that the scheduler gives it, where the system says; else all."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
