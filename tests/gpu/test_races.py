"""The kernels have no data races: ThreadSanitizer checks them in a simulator whose lanes are threads.

The test is slow. It is skipped without GCC on Linux, unless CRAYON_RACES_CXX names a compiler.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tokenize
from pathlib import Path

import gpu_simulator
import pytest

from tests.gpu.test_kernels import strings

on_linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the simulator is for Linux")
pytestmark = [pytest.mark.slow, on_linux]


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of texts of every kind, including texts that the CPU encodes. Most kernels get several blocks of
    threads."""
    lines = [text.replace("\n", " ").replace("\r", " ") for text in strings(60)]
    lines += ["[L] <|endoftext|> crayon e\u0301", "a" * 1500, " " * 300, "7" * 300]
    path = tmp_path_factory.mktemp("races") / "texts"
    path.write_text("\n".join(lines) + "\n" + Path(tokenize.__file__).read_text(encoding="utf-8")[:16_000])
    return path


@pytest.fixture(scope="module", autouse=True)
def _gcc() -> None:
    named = os.environ.get("CRAYON_RACES_CXX")
    with pytest.MonkeyPatch.context() as patch:
        if named:
            patch.setenv("CXX", named)
        usable = shutil.which(gpu_simulator.compiler()[0]) is not None and gpu_simulator.race_launcher() is not None
        if not usable:
            assert not named, f"{named}, which CRAYON_RACES_CXX names, is no GCC with ThreadSanitizer"
            pytest.skip("no GCC with ThreadSanitizer")
        yield


@pytest.mark.parametrize(
    ("runtime", "mode", "names"),
    [
        ("cuda", "exact", ["llama3_like", "qwen_like", "template_like"]),
        ("cuda", "greedy", ["template_like"]),
        ("hip", "exact", ["llama3_like"]),
        ("hip", "greedy", ["llama3_like"]),
    ],
)
def test_kernels_have_no_races(
    runtime: str, mode: str, names: list[str], texts: Path, request: pytest.FixtureRequest
) -> None:
    launcher = gpu_simulator.race_launcher()
    assert launcher is not None
    words, variables = launcher
    vocabularies = [request.getfixturevalue(name) for name in names]
    arguments = [gpu_simulator.build(races=True), texts, runtime, mode, *vocabularies]
    command = [*words, sys.executable, Path(__file__).with_name("race_run.py"), *map(str, arguments)]
    environment = os.environ | variables | {"TSAN_OPTIONS": "", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    ran = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")
