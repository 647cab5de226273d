"""Runs the tests with other versions of tokenizers and transformers than those that pyproject.toml pins.

    python tools/versions.py [NAME ...] [-- ARGUMENTS OF PYTEST]

Each NAME of `ENVIRONMENTS` (all, where none is given) is a virtual environment below ``build/versions``, made of the
extra ``test`` with its own versions in place of the pinned ones. The first time takes minutes, and gigabytes in all.
The package is this tree, with its extension built in place, so all use this Python: 3.11 or later. The exit status is 1
when a test fails.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import tomllib  # type: ignore[import-not-found, unused-ignore]

TREE = Path(__file__).resolve().parents[1]
BUILD = TREE / "build" / "versions"


class Environment(NamedTuple):
    """What stands in for the pins."""

    wanted: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    """Packages that are not there, since they cannot be beside those."""
    reference: str = ""
    """What the tests compare with, where the version that is wanted cannot say what is right."""


ENVIRONMENTS = {
    # Its transformers want huggingface_hub before 1, and datatrove wants a later one.
    "tokenizers-0.22": Environment(("tokenizers==0.22.2", "transformers==4.57.6"), ("datatrove",)),
    "tokenizers-1.0": Environment(("tokenizers==1.0.0rc3",), ("transformers",), reference="tokenizers==0.23.3"),
    "transformers-5.24": Environment(("tokenizers==0.23.3", "transformers==5.24.0")),
}


def main(arguments: list[str]) -> int:
    names, options = arguments, []
    if "--" in arguments:
        at = arguments.index("--")
        names, options = arguments[:at], arguments[at + 1 :]
    unknown = [name for name in names if name not in ENVIRONMENTS]
    if unknown:
        print(f"versions: no environment {', '.join(unknown)}; there are {', '.join(ENVIRONMENTS)}", file=sys.stderr)
        return 2
    failed = []
    for name in names or ENVIRONMENTS:
        print(f"== {name}", flush=True)
        if run(name, ENVIRONMENTS[name], options):
            failed.append(name)
    print(f"== failed: {', '.join(failed)}" if failed else "== all pass")
    return int(bool(failed))


def run(name: str, environment: Environment, options: list[str]) -> int:
    """The tests in one environment; what pytest exits with."""
    directory = BUILD / name
    python = directory / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    ready = directory / "ready"
    requirements = "\n".join(requirements_of(environment))
    if not ready.is_file() or ready.read_text() != requirements:
        make(directory, python, environment, requirements)
        ready.write_text(requirements)
    path = [str(python.parent), os.environ.get("PATH", "")]
    variables = {**os.environ, "PATH": os.pathsep.join(path)}
    command = [str(python), "-m", "pytest", "-n", "auto", "--dist", "worksteal", "-rsfE"]
    if environment.reference:
        variables["CRAYON_REFERENCE"] = str(directory / "reference")
        command += ["-p", "tests.support.reference_beside"]
    return subprocess.run([*command, *(options or ["tests"])], cwd=TREE, env=variables).returncode


def requirements_of(environment: Environment) -> list[str]:
    """The extra ``test``, with other versions of some."""
    project = tomllib.loads((TREE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    other = {_name(wanted) for wanted in environment.wanted} | set(environment.left_out)
    listed = [*project["dependencies"], *project["optional-dependencies"]["test"]]
    return [*environment.wanted, *(one for one in listed if _name(one) not in other), environment.reference]


def make(directory: Path, python: Path, environment: Environment, requirements: str) -> None:
    """The virtual environment, and beside it the reference."""
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(directory)], check=True)
    listed = directory / "requirements.txt"
    listed.write_text("\n".join(line for line in requirements.splitlines() if line != environment.reference))
    pip = [str(python), "-m", "pip", "install", "--quiet"]
    subprocess.run([*pip, "-r", str(listed)], check=True)
    subprocess.run([*pip, "--no-deps", "-r", str(TREE / "tests/no-deps.txt")], check=True)
    where = [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    packages = subprocess.run(where, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    lines = [str(TREE)]  # also for programs that have a PYTHONPATH of their own
    if environment.reference:
        support = str(TREE / "tests/support")
        begin = f"sys.path.append({support!r}), __import__('put_beside'), sys.path.remove({support!r})"
        lines.append(f"import os, sys; os.environ.get('CRAYON_REFERENCE') and ({begin})")
        target = str(directory / "reference")
        subprocess.run([*pip, "--no-deps", "--target", target, environment.reference], check=True)
    Path(packages, "crayon_hf.pth").write_text("\n".join([*lines, ""]))


def _name(requirement: str) -> str:
    found = re.match(r"[\w.-]+", requirement)
    assert found is not None, requirement
    return found[0].lower()


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
