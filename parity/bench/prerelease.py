"""The pre-release of tokenizers, in an environment of its own: transformers refuses to be beside it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

from crayon_hf.cartridges.cache import cache_directory

__all__ = ["REQUIREMENT", "interpreter"]

REQUIREMENT = "tokenizers==1.0.0rc3"


def interpreter() -> str:
    """The interpreter of that environment, which is made in the cache directory when it is not there."""
    name = f"{REQUIREMENT.replace('==', '-')}-py{sys.version_info.major}.{sys.version_info.minor}"
    directory = Path(cache_directory()) / "bench" / name
    python = directory / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    made = directory / "complete"
    if not made.is_file():
        shutil.rmtree(directory, ignore_errors=True)
        venv.create(directory, with_pip=True)
        command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", REQUIREMENT]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise OSError(f"{REQUIREMENT} cannot be installed in {directory}: {last}")
        made.write_text(REQUIREMENT, encoding="ascii")
    return str(python)
