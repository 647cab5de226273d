"""Runs the tests with other versions of libraries than in tests/lock.txt.

    python tools/versions.py [NAME ...] [-- ARGUMENTS OF PYTEST]

Each NAME of `ENVIRONMENTS` (default: all) is a virtual environment below ``build/versions``. It has
tests/requirements.txt and the lock, except for its own versions. ``newest`` has everything that tests need, without the
lock: it first prints the versions that differ from the lock, then the failures. The first run takes minutes, and
gigabytes for ``newest``. The package is this tree, with its extension built in place, so all use this Python: 3.11 or
later. The exit status is 1 if a test fails.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import tomllib  # type: ignore[import-not-found, unused-ignore]
from lock import LOCK, NO_DEPS, pinned, requirements
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

TREE = Path(__file__).resolve().parents[1]
sys.path.append(str(TREE))

from parity import environments  # noqa: E402

BUILD = TREE / "build" / "versions"
LIGHT, ALL = TREE / "tests" / "requirements.txt", TREE / "tests" / "all.txt"


class Environment(NamedTuple):
    """Changes to the locked versions."""

    wanted: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    """Packages that conflict with `wanted`."""
    unlocked: tuple[str, ...] = ()
    """Packages that `wanted` requires in other versions than the lock's."""
    reference: str = ""
    """The requirement for the tokenizers library that tests compare with, if `wanted` has one that cannot be the
    reference."""
    is_newest: bool = False
    """Whether the environment has everything that tests need, in the newest compatible versions."""


ENVIRONMENTS = {
    "newest": Environment(is_newest=True),
    "tokenizers-0.22": Environment(("tokenizers==0.22.2", "transformers==4.57.6"), unlocked=("huggingface-hub",)),
    "tokenizers-1.0": Environment(("tokenizers==1.0.0rc3",), ("transformers",), reference="tokenizers==0.23.3"),
    "transformers-5.24": Environment(("transformers==5.24.0",)),
}


def main(arguments: list[str]) -> int:
    names, options = arguments, []
    if "--" in arguments:
        at = arguments.index("--")
        names, options = arguments[:at], arguments[at + 1 :]
    unknown = [name for name in names if name not in ENVIRONMENTS]
    if unknown:
        print(
            f"versions: unknown environment {', '.join(unknown)}; known are {', '.join(ENVIRONMENTS)}", file=sys.stderr
        )
        return 2
    failed = []
    for name in names or ENVIRONMENTS:
        print(f"== {name}", flush=True)
        if run(name, ENVIRONMENTS[name], options):
            failed.append(name)
    print(f"== failed: {', '.join(failed)}" if failed else "== all pass")
    return int(bool(failed))


def run(name: str, environment: Environment, options: list[str]) -> int:
    """Run the tests in one environment. Returns pytest's exit status."""
    python = made(name, environment)
    if environment.is_newest:
        print(*different(python), sep="\n", flush=True)
    path = [str(python.parent), os.environ.get("PATH", "")]
    variables = {**os.environ, "PATH": os.pathsep.join(path)}
    command = [str(python), "-m", "pytest", "-n", "auto", "--dist", "worksteal", "-rsfE"]
    if environment.is_newest:
        command += ["-m", ""]
    if environment.reference:
        variables["CRAYON_REFERENCE"] = str(BUILD / name / "reference")
        command += ["-p", "tests.support.reference_beside"]
    return subprocess.run([*command, *(options or ["tests"])], cwd=TREE, env=variables).returncode


def requirements_of(environment: Environment) -> list[str]:
    """Return the requirements for pip.

    >>> requirements_of(Environment(("tokenizers==0.22.2",), ("transformers",)))[0]
    'tokenizers==0.22.2'
    """
    project = tomllib.loads((TREE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    other = {canonicalize_name(Requirement(one).name) for one in environment.wanted} | set(environment.left_out)
    listed = [*map(Requirement, project["dependencies"]), *requirements(LIGHT)]
    if environment.is_newest:
        listed += requirements(ALL)
        for each in listed:
            each.specifier = Requirement("any").specifier
    return [*environment.wanted, *(str(each) for each in listed if canonicalize_name(each.name) not in other)]


def constraints_of(environment: Environment) -> list[str]:
    """Return the lines of the lock, without the packages that the environment has in other versions."""
    other = {canonicalize_name(Requirement(one).name) for one in environment.wanted} | set(environment.unlocked)
    return [] if environment.is_newest else [str(one) for one in requirements(LOCK) if one.name not in other]


def made(name: str, environment: Environment) -> Path:
    """Make the virtual environment, with its reference, and return its Python."""
    directory = BUILD / name
    constraints = "\n".join(constraints_of(environment))
    if environment.is_newest:
        shutil.rmtree(directory, ignore_errors=True)
    file = (
        BUILD / f"{hashlib.sha256(constraints.encode()).hexdigest()[:16]}.txt"
    )  # a changed lock makes a new environment
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(constraints)
    without = ["-r", str(NO_DEPS)] if environment.is_newest else []
    python = environments.environment(directory, [*requirements_of(environment), "-c", str(file)], without)
    lines = [str(TREE)]  # also for programs with their own PYTHONPATH
    if environment.reference:
        support = str(TREE / "tests/support")
        begin = f"sys.path.append({support!r}), __import__('put_beside'), sys.path.remove({support!r})"
        lines.append(f"import os, sys; os.environ.get('CRAYON_REFERENCE') and ({begin})")
        target = directory / "reference"
        if not target.exists():
            pip = [str(python), "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(target)]
            subprocess.run([*pip, environment.reference], check=True)
    (environments.packages_of(python) / "crayon_hf.pth").write_text("\n".join([*lines, ""]))
    return python


def different(python: Path) -> list[str]:
    """Return a line for each installed package whose version differs from the lock's."""
    command = [str(python), "-m", "pip", "list", "--format", "json"]
    found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    locked = pinned()
    lines = []
    for each in found:
        name, version = canonicalize_name(each["name"]), each["version"]
        if name != "pip" and version.partition("+")[0] != locked.get(name):
            lines.append(f"{name}: {version}, in the lock {locked.get(name, 'not there')}")
    return lines or ["no version differs from the lock"]


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
