"""Environments of clients: what is large they share, what pip resolves for a client is its own."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import venv
from pathlib import Path

from clients.client import Client

__all__ = ["ROOT", "environment", "shared_environment"]

ROOT = Path(__file__).resolve().parents[2]
CONSTRAINTS = ("torch==2.13.0",)
"""The build for CPUs: what else pip chooses brings gigabytes for GPUs."""
SHARED = (
    *CONSTRAINTS,
    "transformers==5.23.0",
    "tokenizers==0.23.3",
    "tiktoken==0.14.0",
    "accelerate",
    "datasets",
    "huggingface_hub",
    "jinja2",
    "numpy",
    "openai",
    "pandas",
    "protobuf",
    "pyarrow",
    "pydantic",
    "scikit-learn",
    "scipy",
    "sentencepiece",
)
"""What most clients require. Where a client requires another version, it has that one in its own environment."""


class InstallError(Exception):
    """pip's last words."""


def shared_environment(cache: Path) -> Path:
    """The Python of the environment that all others see."""
    home = cache / "base"
    python = home / "bin" / "python"
    if not python.exists():
        venv.create(home, with_pip=True, symlinks=True)
        _pip(python, cache, "--upgrade", "pip")
    _once(home, SHARED, lambda: _pip(python, cache, *SHARED))
    _see(home, [])
    return python


def environment(client: Client, cache: Path) -> Path:
    """The Python of the client's own environment, made if it is not there."""
    base = shared_environment(cache)
    home = cache / "environments" / client.distribution
    python = home / "bin" / "python"
    if not python.exists():
        venv.create(home, with_pip=False, symlinks=True)
    _see(home, [_packages(base.parent.parent)])

    def install() -> None:
        if client.packages:  # transformers, so that what a client requires fits what transformers does
            _pip(base, cache, *client.packages, *_besides(client.packages), into=python)
        if client.no_deps:
            _pip(base, cache, "--no-deps", *client.no_deps, into=python)

    _once(home, (*client.packages, *_besides(client.packages), "--no-deps", *client.no_deps), install)
    return python


def _besides(packages: tuple[str, ...]) -> list[str]:
    return [] if any(each.startswith("transformers") for each in packages) else ["transformers"]


def _packages(home: Path) -> Path:
    return home / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"


def _see(home: Path, shared: list[Path]) -> None:
    """Put the shared packages, this repository and its tools behind the environment's own packages."""
    lines = [*map(str, shared), str(ROOT), str(ROOT / "tools")]
    (_packages(home) / "zz-shared.pth").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _once(home: Path, wanted: tuple[str, ...], install: object) -> None:
    """Install what an environment does not have yet, as a note in it says."""
    note = home / "installed.json"
    said = hashlib.sha256(json.dumps(wanted).encode()).hexdigest()
    if note.exists() and note.read_text() == said:
        return
    install()  # type: ignore[operator]
    note.write_text(said)


def _pip(pip: Path, cache: Path, *arguments: str, into: Path | None = None) -> None:
    constraints = cache / "constraints.txt"
    constraints.write_text("\n".join(CONSTRAINTS) + "\n")
    target = ["--python", str(into)] if into else []
    command = [str(pip), "-m", "pip", *target, "install", "-q", "-c", str(constraints), *arguments]
    run = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | {"PYTHONPATH": ""})
    if run.returncode:
        raise InstallError("\n".join(line for line in run.stderr.splitlines() if "ignored" not in line)[-1500:])
