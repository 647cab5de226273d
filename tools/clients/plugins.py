"""Writes our entry points as pip does, for servers that look for plugins: the repository is not installed here."""

from __future__ import annotations

import sys
from pathlib import Path

import tomllib  # type: ignore[import-not-found, unused-ignore]
from clients.environments import ROOT

__all__ = ["offer"]


def offer(directory: Path) -> None:
    """Write the metadata of an installed crayon-hf into `directory`, and add `directory` to `sys.path`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    home = directory / "crayon_hf.dist-info"
    home.mkdir()
    (home / "METADATA").write_text("Metadata-Version: 2.1\nName: crayon-hf\nVersion: 0\n", encoding="utf-8")
    lines = []
    for group, points in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {value}" for name, value in points.items())]
    (home / "entry_points.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    sys.path.append(str(directory))
