"""Which GPU engines a build of the package tries to compile, why others are missing, and which nvcc it uses."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import gpu_record
import pytest

pytest.importorskip("setuptools", minversion="77")
pytest.importorskip("pybind11")
pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="built on Linux only")

ROOT = Path(__file__).resolve().parents[2]

# Builds only the requested GPU engines, into separate directories, and prints the results.
SCRIPT = """
import json, pathlib, runpy, sys, types
directory = pathlib.Path(sys.argv[1])
sys.argv = ["setup.py", "--name"]  # which builds nothing
done = runpy.run_path("setup.py")
from setuptools import Distribution
command = done["BuildExt"](Distribution())
command.built = {}
base = types.SimpleNamespace(build_base=str(directory / "base"))
command.get_finalized_command = lambda name: base
said = {}
try:
    for extension in done["gpu_extensions"](done["RECORD"]):
        command.build_gpu_extension(extension)
except done["CompileError"] as error:
    said["error"] = str(error)
done["RECORD"].write(directory)
print(json.dumps(said))
"""

NVCC = """#!/bin/sh
case "$*" in
*--list-gpu-arch*) echo compute_90;;
*--dryrun*) echo "#\\$ TOP={top}";;
*) echo 'cuda/device.cu(1): warning #177-D: nothing'; echo 'cuda/device.cu(2): error: "x" is undefined' >&2; exit 2;;
esac
"""


def build(tmp_path: Path, asked: str | None, **variables: str) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """Build GPU engines with the programs in `tmp_path`/bin and without hipcc. `asked` is CRAYON_BUILD. Returns
    (results, the build's record)."""
    path = [str(Path(sys.executable).parent), str(tmp_path / "bin")]
    environment = {"PATH": ":".join(path), "CRAYON_CUDA_ARCHS": "90", **variables}
    environment |= {} if asked is None else {"CRAYON_BUILD": asked}
    command = [sys.executable, "-c", SCRIPT, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1]), json.loads((tmp_path / gpu_record.NAME).read_text())


@pytest.fixture
def programs(tmp_path: Path) -> None:
    """Write a fake nvcc, which fails to compile, and a fake nvidia-smi, which reports a device."""
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "libcudart_static.a").touch()
    (tmp_path / "bin").mkdir()
    for name, script in {"nvcc": NVCC.replace("{top}", str(tmp_path)), "nvidia-smi": "#!/bin/sh\necho 9.0\n"}.items():
        (tmp_path / "bin" / name).write_text(script)
        (tmp_path / "bin" / name).chmod(0o755)


def left_out(name: str, why: str) -> dict[str, str]:
    return {"left_out": why, "build_with": f"CRAYON_BUILD={name}, on Linux"}


FAILED = 'nvcc failed: cuda/device.cu(2): error: "x" is undefined'


@pytest.mark.usefixtures("programs")
def test_a_compiler_that_fails(tmp_path: Path) -> None:
    """If compiling a GPU engine fails, the build succeeds without it and records why. If the engine was requested, the
    build fails."""
    said, record = build(tmp_path, None, ROCM_PATH="")
    assert said == {}
    assert record["cuda"] == {"failed": FAILED}
    said, record = build(tmp_path, "cuda")
    assert said["error"].startswith("crayon_hf._cuda for 90: ")
    assert 'cuda/device.cu(2): error: "x" is undefined' in said["error"]
    assert "warning #177-D" in said["error"]
    assert "cuda" not in record


@pytest.mark.usefixtures("programs")
def test_engines_that_are_not_tried(tmp_path: Path) -> None:
    why = "it was built with CRAYON_BUILD=cpu"
    assert build(tmp_path, "cpu")[1] == {"cuda": left_out("cuda", why), "rocm": left_out("hip", why)}
    why = "it was built for a sanitizer"
    record = build(tmp_path, None, CRAYON_SANITIZE="address")[1]
    assert record == {"cuda": left_out("cuda", why), "rocm": left_out("hip", why)}


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ("", "it said nothing"),
        ("nvcc -Werror -c x.cu\nx.cu(3): warning #1: w\nx.cu(4): error: a\nx.cu(5): error: b", "x.cu(4): error: a"),
        ("nvcc fatal   : Unsupported gpu architecture", "nvcc fatal   : Unsupported gpu architecture"),
        ("/usr/bin/ld: warning: w\n/usr/bin/ld: cannot find -lx\ncollect2: error: ld", "/usr/bin/ld: cannot find -lx"),
        ("sh: 1: nvcc: not found\nninja: build stopped: subcommand failed.\n\n", "sh: 1: nvcc: not found"),
    ],
)
def test_the_first_error_of_a_compiler(said: str, error: str) -> None:
    assert gpu_record.first_error(said) == error
