"""Describes the conditions of measured speeds: the machine, the versions and the texts."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path

from crayon_hf.util.wording import plural

from .inputs import Text
from .processes import all_cores

__all__ = ["cpu_model", "machine_lines"]


def machine_lines(texts: Sequence[Text], versions: Mapping[str, str]) -> list[str]:
    """Describe the machine, the versions of the measured engines, and the texts."""
    packages = [f"{name} {number}" for name, number in versions.items()]
    sizes = [f"{text.name} {text.bytes / 1e6:.1f} MB in {plural(text.documents, 'document')}" for text in texts]
    return [
        f"- Machine: {cpu_model()}, {len(all_cores())} of {os.cpu_count()} cores, {platform.system()} "
        f"{platform.release()} {platform.machine()}",
        f"- Python {platform.python_version()}, {', '.join(packages)}",
        f"- Texts: {'; '.join(sizes)}" if sizes else "- Texts: none",
        "- MB are 1,000,000 bytes of UTF-8; each figure is a median; special tokens are not added;",
        "  the first pass is in a fresh process, over text that it has not seen, after a few letters",
    ]


def cpu_model() -> str:
    """The name of the processor."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or "unknown processor"
