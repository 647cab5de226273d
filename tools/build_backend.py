"""The build backend for pip and other frontends: setuptools, plus nvcc on demand.

If CRAYON_BUILD has cuda and the machine has no nvcc, pip installs the packages of tools/nvcc.txt for the build.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

import gpu_build
import gpu_toolchain
from native_build import BuildError
from setuptools import build_meta  # type: ignore[import-untyped]
from setuptools.build_meta import (  # type: ignore[import-untyped]
    build_editable,
    build_sdist,
    build_wheel,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

_Settings = Mapping[str, Any] | None


def compiler_packages() -> list[str]:
    """Return the packages that contain nvcc, or none if the build does not need them. An invalid CRAYON_BUILD gives
    none; setup.py reports it."""
    try:
        runtimes, insists = gpu_build.wanted(os.environ.get("CRAYON_BUILD"))
    except BuildError:
        return []
    is_needed = insists and gpu_build.CUDA in runtimes and sys.platform.startswith("linux")
    return gpu_toolchain.packages() if is_needed and gpu_build.find_compiler(gpu_build.CUDA) is None else []


def get_requires_for_build_wheel(config_settings: _Settings = None) -> list[str]:
    return [*build_meta.get_requires_for_build_wheel(config_settings), *compiler_packages()]


def get_requires_for_build_editable(config_settings: _Settings = None) -> list[str]:
    return [*build_meta.get_requires_for_build_editable(config_settings), *compiler_packages()]
