"""`python -m parity.crayon`: CRAYON in its own processes, planted differences, and another release for comparison.

Most tests replace CRAYON with a small package, so that they run without it.
"""

from __future__ import annotations

import sys

import pytest

import parity.crayon.__main__ as suite
from parity.crayon.releases import lost_characters
from tests.support.crayon_package import needs_crayon

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="an interpreter that is a shell script")


@needs_crayon
@pytest.mark.parametrize("name", ["lite", "standard"])
def test_the_published_package(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    (path,) = [path for path in suite.shipped() if name in path]
    assert suite.main([path, "--strings", "300"]) == 0
    assert f"xerv-crayon {suite.RELEASE}" in capsys.readouterr().out


def test_lost_characters() -> None:
    tokens = [b"a", b'"', "é".encode(), b"\xe6"]
    assert lost_characters('a"é', [0, 1, 2], tokens) == 0
    assert lost_characters("a日日", [0, 1, 1, 1, 3, 1, 1], tokens) == 2
    for ids in ([0], [0, 0], [0, 1, 1, 1]):
        with pytest.raises(ValueError, match=r"^(id|the ids) "):
            lost_characters("aé", ids, tokens)
