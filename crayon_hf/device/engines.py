"""The GPU engines of this build, the reasons for missing ones, and the command that installs them.

The build writes ``engines.json``: for each device the architectures of its engine, or why the engine was left out, or
the first error of the compiler.
"""

from __future__ import annotations

import json
import shlex
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

RECORD = Path(__file__).with_name("engines.json")

_ROOT = Path(__file__).resolve().parents[2]
"""The repository, if the package is imported from one."""

_NAMES = {"cuda": "cuda", "rocm": "hip"}
"""The value of CRAYON_BUILD that builds the engine for a kind of device."""

_DRIVERS = {"cuda": ("/proc/driver/nvidia", "/dev/nvidiactl"), "rocm": ("/dev/kfd",)}

_ANOTHER_BUILD = "--no-cache-dir --force-reinstall --no-deps"
"""Makes pip ignore an earlier build with another CRAYON_BUILD."""


def record() -> dict[str, dict[str, Any]]:
    """Return the record of the build, or an empty dict if the build wrote none."""
    try:
        said = json.loads(RECORD.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return said if isinstance(said, dict) else {}


def why_missing(kind: str) -> str:
    """The reason why this build has no engine for a kind of GPU, and how to get one."""
    if not sys.platform.startswith("linux"):
        return f"this build has no engine for {kind}, which is built on Linux only"
    said = record().get(kind, {})
    why = said.get("failed") or said.get("left_out")
    helps = "shows the details" if "failed" in said else "builds one"
    return f"this build has no engine for {kind}{f' ({why})' if why else ''}; {command(kind)} {helps}"


def is_missed(kind: str) -> bool:
    """Whether a user may expect a missing engine: its build failed, or the machine has the driver."""
    return "failed" in record().get(kind, {}) or any(Path(path).exists() for path in _DRIVERS[kind])


def architectures(kind: str) -> list[str]:
    """Return an engine's architectures in the compiler's names (``90``, ``gfx942``), or an empty list if unknown."""
    return [str(name) for name in record().get(kind, {}).get("architectures", [])]


def command(kind: str) -> str:
    """The command that reinstalls this package from its origin, with an engine for a kind of GPU."""
    built = {name for name in _NAMES if architectures(name)}
    names = ",".join(_NAMES[name] for name in _NAMES if name == kind or name in built)
    return f"CRAYON_BUILD={names} pip install {_source()}"


def _source() -> str:
    """The arguments for pip that reinstall this package from its origin."""
    if (_ROOT / "setup.py").is_file() and (_ROOT / "tools" / "gpu_build.py").is_file():
        return f"-e {shlex.quote(str(_ROOT))}"
    try:
        installed = distribution("crayon-hf")
        origin = json.loads(installed.read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        return ". (in a clone)"
    url = str(origin.get("url", ""))
    if not url:
        return f"{_ANOTHER_BUILD} --no-binary crayon-hf crayon-hf=={installed.version}"
    if "vcs_info" in origin:
        vcs = origin["vcs_info"]
        return f"{_ANOTHER_BUILD} {shlex.quote(vcs['vcs'] + '+' + url + '@' + vcs['commit_id'])}"
    path = Path(unquote(urlsplit(url).path))
    if "dir_info" in origin and (path / "setup.py").is_file():
        return shlex.quote(str(path))
    if url.endswith(".tar.gz"):
        return f"{_ANOTHER_BUILD} {shlex.quote(url)}"
    return ". (in a clone)"
