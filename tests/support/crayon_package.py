"""Finds out whether the release of CRAYON (``xerv-crayon``) that tests compare with is installed."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.support.libraries import INSTALLED

RELEASE = "5.3.8"
"""The release that CRAYON's papers describe. Since 5.7 it has another engine, which gives other ids."""


def why_not() -> str:
    """The reason why tests that call CRAYON cannot run; "" if they can."""
    try:
        found = version("xerv-crayon")
    except PackageNotFoundError:
        return f"xerv-crayon is not installed: pip install xerv-crayon=={RELEASE}"
    if found != RELEASE:
        return f"xerv-crayon {found} is installed, whose engine gives other ids than {RELEASE}'s"
    spec = find_spec("crayon")
    folders = list(spec.submodule_search_locations or []) if spec else []
    names = [path.name for folder in folders for path in Path(folder, "c_ext").glob("crayon_cpu.*")]
    if not any(name.endswith((".so", ".pyd")) for name in names):
        return f"xerv-crayon {found} has no compiled engine here"
    return ""


needs_crayon = pytest.mark.skipif(not INSTALLED and bool(why_not()), reason=why_not() or "it is here")
"""Skips a test if CRAYON 5.3.8 or its compiled engine is missing, and says which release is installed. In CI the test
runs, and fails without CRAYON."""
