"""Runs the tests under sanitizers: `sanitize.py asan` runs all tests, `sanitize.py tsan` the tests of concurrency.

    python tools/sanitize.py asan|tsan [PYTEST ARGUMENT...]

`asan` is AddressSanitizer with UndefinedBehaviorSanitizer and the assertions of libstdc++; `tsan` is ThreadSanitizer.
The package is built from this tree with them, for a virtual environment in build/sanitize/. Its interpreter is linked
with the sanitizers (tests/sanitizers/python.cpp), and it sees the packages of the running Python. Programs that tests
start with `sys.executable` use it, too. Before the tests, a program with a fault of each kind checks that the
sanitizers find each.

Reports go to build/sanitize/NAME/reports, also from child processes. Any report fails the run, even if its test passes.
Without arguments for pytest, all cores are used.

Needs Linux, Clang, Python 3.11 or later with its headers and library, and the requirements of the tests. CC and CXX
name another compiler: `CC=gcc CXX=g++`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HERE = ROOT / "tests" / "sanitizers"

COMPILERS = {"CC": os.environ.get("CC", "clang"), "CXX": os.environ.get("CXX", "clang++")}
SANITIZERS = {"asan": "address,undefined", "tsan": "thread"}
UNFIT = "not measures_memory and not forks_from_threads"
"""Markers of tests that are skipped.

Tests of a process's memory would measure the sanitizer's, which is several times ours. A child that is forked while
another thread allocates hangs: fork does not wait for the locks of the sanitizers' allocators (LLVM 14).
"""
CHOSEN = {"asan": UNFIT, "tsan": f"concurrency and {UNFIT}"}

FAULTS = {
    "asan": {
        "past_the_end": "heap-buffer-overflow",
        "after_free": "heap-use-after-free",
        "overflow": "signed integer overflow",
        "misaligned": "misaligned address",
        "past_the_vector": "Assertion '__n < this->size()' failed",
    },
    "tsan": {"race": "data race"},
}


def options(kind: str, reports: Path) -> dict[str, str]:
    """Return the sanitizers' settings. They are compiled into the interpreter, so that a child with an empty
    environment has them."""
    # One test truncates a mapped file and expects that SIGBUS ends the process, as without a sanitizer.
    common = f"log_path={reports}/report:log_exe_name=1:handle_sigbus=0"
    suppressions = HERE / "tsan.txt"
    return {
        # No leak detection: Python frees little when it ends, which looks like leaks of ours.
        # A failed allocation raises an exception, as without sanitizers.
        "ASAN": f"{common}:detect_leaks=0:detect_stack_use_after_return=1:allocator_may_return_null=1",
        "UBSAN": f"{common}:print_stacktrace=1",
        # The tests fork while threads run, on purpose.
        "TSAN": f"{common}:die_after_fork=0:second_deadlock_stack=1:suppressions={suppressions}",
    }


def make_interpreter(kind: str, place: Path, reports: Path) -> Path:
    """Make the Python of a virtual environment with the sanitizer, the built package and this Python's other
    packages."""
    scripts = place / "venv" / "bin"
    scripts.mkdir(parents=True, exist_ok=True)
    paths = sysconfig.get_paths()
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    packages = Path(sysconfig.get_path("purelib", "venv", {"base": str(place / "venv")}))
    packages.mkdir(parents=True, exist_ok=True)
    home = Path(sys.base_prefix) / "bin"
    (place / "venv" / "pyvenv.cfg").write_text(f"home = {home}\ninclude-system-site-packages = false\n")
    others = sorted({paths["purelib"], paths["platlib"]})
    lines = [str(place / "lib"), str(ROOT), *(f"import site; site.addsitedir({other!r})" for other in others)]
    (packages / "sanitized.pth").write_text("\n".join(lines) + "\n")

    python = scripts / "python"
    library = Path(sysconfig.get_config_var("LIBDIR"))
    defines = [f'-D{name}="{value}"' for name, value in options(kind, reports).items()]
    command = [COMPILERS["CXX"], *defines, f"-fsanitize={SANITIZERS[kind]}", "-g1", str(HERE / "python.cpp")]
    command += [f"-I{paths['include']}", f"-L{library}", f"-Wl,-rpath,{library}", "-Wl,--export-dynamic"]
    # Link libstdc++ here: the sanitizer looks up its exception functions at startup.
    command += ["-Wl,--no-as-needed", f"-lpython{sysconfig.get_config_var('LDVERSION')}", "-lstdc++"]
    command += [*sysconfig.get_config_var("LIBS").split(), "-lm", "-o", str(python)]
    subprocess.run(command, check=True)
    for name in ("python3", f"python{version}"):
        (scripts / name).unlink(missing_ok=True)
        (scripts / name).symlink_to("python")
    return python


def build(kind: str, place: Path, python: Path) -> None:
    """Build the package with the interpreter `python`, which must load the sanitized extension to compile the
    profiles."""
    environment = os.environ | COMPILERS | {"CRAYON_SANITIZE": SANITIZERS[kind]}
    command = [str(python), "setup.py", "-q", "build", f"--build-base={place}/temp", f"--build-lib={place}/lib"]
    subprocess.run(command, check=True, cwd=ROOT, env=environment)


def unseen_faults(kind: str, place: Path, python: Path, reports: Path) -> Iterator[str]:
    """Yield the faults of faults.cpp that get no report, and "none" if a program without a fault gets a report."""
    library = place / "faults.so"
    flags = ["-O0", "-g1", "-fPIC", "-shared", "-D_GLIBCXX_ASSERTIONS", "-fno-sanitize-recover=all"]
    command = [COMPILERS["CXX"], *flags, f"-fsanitize={SANITIZERS[kind]}", str(HERE / "faults.cpp")]
    subprocess.run([*command, "-o", str(library)], check=True)
    for name, words in {**FAULTS[kind], "none": ""}.items():
        code = f"import ctypes; ctypes.CDLL({str(library)!r}).{name}()"
        ran = subprocess.run([python, "-c", code], capture_output=True, text=True, env={})
        said = ran.stderr + "".join(path.read_text() for path in sorted(reports.iterdir()))
        if (ran.returncode == 0) != (name == "none") or words not in said or (name == "none" and said):
            yield name
        for path in reports.iterdir():
            path.unlink()


def main() -> int:
    parser = argparse.ArgumentParser(description="the tests under sanitizers")
    parser.add_argument("kind", choices=SANITIZERS)
    given, arguments = parser.parse_known_args()
    kind: str = given.kind
    place = ROOT / "build" / "sanitize" / kind
    reports = place / "reports"
    shutil.rmtree(reports, ignore_errors=True)
    reports.mkdir(parents=True)

    signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # shells ignore this signal in background jobs, where its tests would hang
    python = make_interpreter(kind, place, reports)
    unseen = list(unseen_faults(kind, place, python, reports))
    if unseen:
        print(f"{kind}: the sanitizers do not work here: {', '.join(unseen)}", file=sys.stderr)
        return 2
    build(kind, place, python)
    command: list[str | Path] = [python, "-m", "pytest", "-p", "no:cacheprovider", "-m", CHOSEN[kind]]
    # This test starts bash, which would load the sanitizer's library.
    command += ["--deselect", "tests/corpora/test_slurm.py"]
    command += arguments or ["-n", "auto", "--dist", "worksteal"]
    # The reference is built without the sanitizer, so its threads would cause false reports of races.
    environment = os.environ | {"PYTHONSAFEPATH": "1", "TOKENIZERS_PARALLELISM": "false"}
    ran = subprocess.run(command, cwd=ROOT, env=environment)
    found = sorted(reports.iterdir())
    for path in found:
        print(f"\n{path.name}\n{path.read_text(errors='replace')[:6000]}", file=sys.stderr)
    print(f"{kind}: {len(found)} reports" + (f" in {reports}" if found else ""))
    return 1 if found else ran.returncode


if __name__ == "__main__":
    sys.exit(main())
