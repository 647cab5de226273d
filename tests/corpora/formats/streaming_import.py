"""Imports the library ``streaming`` (MosaicML's datasets) even if ``torchvision``, which it requires, is missing."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from tests.support.libraries import lacking


@contextmanager
def _a_torchvision() -> Iterator[None]:
    """Define the two names of torchvision that `streaming` imports for image datasets.

    The real torchvision fits only one build of torch. The fake module is removed at once, because other libraries check
    for torchvision.
    """
    names: dict[str, dict[str, Any]] = {
        "torchvision": {},
        "torchvision.datasets": {"VisionDataset": object},
        "torchvision.transforms": {},
        "torchvision.transforms.functional": {"to_tensor": None},
    }
    for name, members in names.items():
        module = ModuleType(name)
        module.__dict__.update(members, __spec__=ModuleSpec(name, None), __path__=[])
        sys.modules[name] = module
    try:
        yield
    finally:
        for name in names:
            del sys.modules[name]


def streaming() -> Any:
    """The module ``streaming``. The test is skipped if it is not installed."""
    if importlib.util.find_spec("streaming") is None:
        lacking("streaming is not installed")
    if "streaming" not in sys.modules and importlib.util.find_spec("torchvision") is None:
        import transformers.utils  # noqa: F401  (it looks for torchvision, and remembers what it found)

        with _a_torchvision():
            import streaming
    import streaming

    return streaming
