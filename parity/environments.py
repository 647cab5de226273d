"""Virtual environments for what cannot be installed beside this one's packages."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from crayon_hf.parity.compare.children import last_line

__all__ = ["environment"]


def environment(home: Path, requirements: Sequence[str]) -> Path:
    """The Python of an environment. It is made where it is not there, or where other packages are asked for.

    OSError where they cannot be installed.
    """
    python = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    note, wanted = home / "installed", "\n".join(requirements)
    if note.is_file() and note.read_text(encoding="utf-8") == wanted:
        return python
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(home)], check=True)
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *requirements]
    done = subprocess.run(install, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise OSError(f"{' '.join(requirements)} cannot be installed in {home}: {last_line(done.stderr)}")
    note.write_text(wanted, encoding="utf-8")
    return python
