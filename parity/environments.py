"""Virtual environments for packages that conflict with this environment's. Needs Python's library alone."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

__all__ = ["environment", "packages_of"]


def environment(
    home: Path, requirements: Sequence[str], without: Sequence[str] = (), sees: Sequence[Path] = ()
) -> Path:
    """Return the Python of an environment. Create the environment if it is missing or was made for other packages.

    The packages `without` are installed without their dependencies. The environment also imports from the folders
    `sees`, after its own packages; packages in them are not installed again. Raise OSError with pip's output if an
    installation fails.
    """
    python = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    note, wanted = home / "installed", "\n".join([*requirements, "--no-deps", *without, *map(str, sees)])
    if note.is_file() and note.read_text(encoding="utf-8") == wanted:
        return python
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(home)], check=True)
    seen = packages_of(python) / "zz-seen.pth"
    seen.write_text("".join(f"{folder}\n" for folder in sees), encoding="utf-8")
    for packages in (requirements, ["--no-deps", *without] if without else []):
        if packages:
            install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages]
            alone = {**os.environ, "PYTHONPATH": ""}  # pip would count packages on it as installed
            done = subprocess.run(install, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=alone)
            if done.returncode:
                why = "\n".join(line for line in done.stderr.splitlines() if "ignored" not in line)
                raise OSError(f"{' '.join(packages)} cannot be installed in {home}: {why[-1500:]}")
    note.write_text(wanted, encoding="utf-8")
    return python


def packages_of(python: Path) -> Path:
    """The folder of an environment's own packages."""
    where = [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    return Path(subprocess.run(where, check=True, stdout=subprocess.PIPE, text=True).stdout.strip())
