"""The kernels under ThreadSanitizer: it takes the simulator's lanes for threads, in order only where they wait for each
other. And tests of this test: kernels in which something is missing are found to be wrong.

Slow. Skipped without GCC on Linux, unless CRAYON_RACES_CXX names it.
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
from native_build import ROOT

from tests.gpu.test_kernels import strings

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the simulator is for Linux"),
]
FOUND = 66
"""ThreadSanitizer's exit status where it has found something."""


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some KB of everything, with texts that are the CPU's; more than a block has of any kernel but those of 32 KB."""
    lines = [text.replace("\n", " ").replace("\r", " ") for text in strings(60)]
    lines += ["[L] <|endoftext|> crayon e\u0301", "a" * 1500, " " * 300, "7" * 300]
    path = tmp_path_factory.mktemp("races") / "texts"
    path.write_text("\n".join(lines) + "\n" + Path(tokenize.__file__).read_text(encoding="utf-8")[:16_000])
    return path


def run(
    module: Path, texts: Path, runtime: str, mode: str, vocabularies: list[Path], options: str = ""
) -> subprocess.CompletedProcess[str]:
    launcher = gpu_simulator.race_launcher()
    assert launcher is not None
    words, variables = launcher
    program = Path(__file__).with_name("race_run.py")
    arguments = [module, texts, runtime, mode, *vocabularies]
    return subprocess.run(
        [*words, sys.executable, program, *map(str, arguments)],
        env=os.environ | variables | {"TSAN_OPTIONS": options, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=False,
    )


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
    paths = [request.getfixturevalue(name) for name in names]
    ran = run(gpu_simulator.build(races=True), texts, runtime, mode, paths)
    assert (ran.returncode, ran.stderr) == (0, "")


WAITS = "f(threadIdx.x % kWidth);\n        wait();"
BLOCK_WAITS = "f(uint32_t(threadIdx.x));\n        __syncthreads();"
SUMS_WAIT = "shared.of_warp[warp] = sum;\n        __syncthreads();"
CONTROLS = {
    "a group does not wait": ("cuda", "exact", "team.h", WAITS, WAITS.partition("\n")[0]),
    "all have not read what some write": ("cuda", "exact", "merges.h", "group.each([](uint32_t) {});", ""),
    "a wavefront has no fence": (
        "hip",
        "exact",
        "team.h",
        '__builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront");',
        "",
    ),
    "a block does not wait": ("cuda", "exact", "team.h", BLOCK_WAITS, BLOCK_WAITS.partition("\n")[0]),
    "warps do not wait for sums": ("hip", "exact", "team.h", SUMS_WAIT, SUMS_WAIT.partition("\n")[0]),
    "bits are set by plain writes": ("cuda", "exact", "team.h", "atomicOr(word, bits);", "*word |= bits;"),
    "several write a byte": (
        "cuda",
        "exact",
        "segments.h",
        "volatile uint8_t* const is_host",
        "uint8_t* const is_host",
    ),
    "one buffer for two": ("cuda", "greedy", "longest.h", "shared.exits[1 - from][i] =", "shared.exits[from][i] ="),
}
"""What is wrong, where it runs, and in which header what text has become another one."""


@pytest.mark.parametrize("name", CONTROLS)
def test_what_is_missing_is_found(
    name: str, texts: Path, tmp_path: Path, llama3_like: Path, template_like: Path
) -> None:
    runtime, mode, header, right, wrong = CONTROLS[name]
    patched = tmp_path / "cpp"
    shutil.copytree(ROOT / "cpp" / "gpu", patched / "gpu")
    path = patched / "gpu" / header
    text = path.read_text()
    assert text.count(right) == 1, f"{header} has changed: the control needs another text to leave out"
    path.write_text(text.replace(right, wrong))
    module = gpu_simulator.build_patched(tmp_path, patched, runtime, races=True)
    ran = run(module, texts, runtime, mode, [llama3_like, template_like], "halt_on_error=1")
    assert ran.returncode == FOUND, ran.stdout + ran.stderr
    assert "WARNING: ThreadSanitizer: data race" in ran.stderr
    assert f"{patched}/gpu/" in ran.stderr
