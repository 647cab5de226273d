"""Calls `crayon_hf.install` in every Python process that a command starts, by means of two environment variables.

With the directory of this package on ``PYTHONPATH``, Python runs its `sitecustomize` at startup. ``CRAYON_INSTALL``
lists the libraries in which tokenizers of crayon_hf replace the library's own.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence

LIBRARIES = ("transformers", "tokenizers", "tiktoken")
DIRECTORY = os.path.dirname(os.path.abspath(__file__))


def libraries(said: str | None) -> list[str]:
    """Return the libraries that a value of ``CRAYON_INSTALL`` names. Raise ValueError for an unknown name.

    None and ``1`` mean transformers, ``all`` means all of them, and ``0`` none.
    """
    said = {None: "transformers", "1": "transformers", "all": ",".join(LIBRARIES), "0": ""}.get(said, said) or ""
    names = [name.strip() for name in said.split(",") if name.strip()]
    for name in names:
        if name not in LIBRARIES:
            raise ValueError(f"CRAYON_INSTALL: {name!r} is unknown, expected {', '.join(LIBRARIES)}, all, 1 or 0")
    return names


def variables(said: str | None, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the values of ``PYTHONPATH`` and ``CRAYON_INSTALL`` with which a new Python process calls `install`.

    `said` names the libraries, as in ``CRAYON_INSTALL``. If it is None, that variable of `environment` names them.
    """
    inherited = [path for path in environment.get("PYTHONPATH", "").split(os.pathsep) if path not in ("", DIRECTORY)]
    return {
        "PYTHONPATH": os.pathsep.join([DIRECTORY, *inherited]),
        "CRAYON_INSTALL": ",".join(libraries(said if said is not None else environment.get("CRAYON_INSTALL"))) or "0",
    }


def run(arguments: Sequence[str], said: str | None = None) -> int:
    """Run ``python ARGUMENTS`` so that it calls `install` for the libraries that `said` names.

    On POSIX the new process replaces this one; elsewhere the exit code is returned.
    """
    if sys.flags.ignore_environment or sys.flags.no_site:
        raise ValueError(
            "cannot run with -E, -I or -S, which make Python ignore the environment variables that this needs"
        )
    command = [sys.executable, *subprocess._args_from_interpreter_flags(), *arguments]  # type: ignore[attr-defined]
    environment = {**os.environ, **variables(said, os.environ)}
    if os.name != "posix":  # elsewhere exec would not make the caller wait
        return subprocess.run(command, env=environment).returncode
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(sys.executable, command, environment)
