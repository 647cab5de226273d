"""Writes tests/lock.txt: the exact version of everything that tests, lint and the documentation install.

    python tools/lock.py

uv takes the newest versions that INPUTS and the package's own extras allow, for every supported Python and every
system. A version for only some Pythons or systems gets a marker. The adapters' extras, which `make chunkers` installs,
and `bench` are left out. The lock installs nothing by itself: with `-c tests/lock.txt`, pip takes the locked versions
of the packages that it installs. This script needs uv (`make lock` installs it) and the network, and takes seconds.
"""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

TREE = Path(__file__).resolve().parents[1]
LOCK = TREE / "tests" / "lock.txt"
INPUTS = tuple(TREE / name for name in ("tests/requirements.txt", "tests/all.txt", "tools/lint.txt", "tools/docs.txt"))
NO_DEPS = TREE / "tests" / "no-deps.txt"
"""Packages that are installed without their requirements, which conflict with ours."""
EXTRAS = (
    *("tiktoken", "transformers", "hub", "report", "corpora", "s3", "gcs", "azure", "training", "chunks"),
    *("datatrove", "ray", "spark"),
)
HEADER = """\
# The versions that tests, `make lint` and `make docs` install: pip install ... -c tests/lock.txt
# `make lock` writes this file, from the extras in pyproject.toml and from
# {inputs}.
"""


def requirements(path: Path) -> list[Requirement]:
    """Return the requirements that a file lists, without those of the files that it includes.

    >>> [str(each) for each in requirements(NO_DEPS)][0]
    'mosaicml-streaming'
    """
    lines = (re.sub(r"(^|\s)#.*", "", line).strip() for line in path.read_text(encoding="utf-8").splitlines())
    return [Requirement(line) for line in lines if line and not line.startswith("-")]


def pinned(path: Path = LOCK) -> dict[str, str]:
    """Return the lock's versions for this Python on this system, by the canonical names of packages."""
    return {
        canonicalize_name(each.name): str(each.specifier).removeprefix("==")
        for each in requirements(path)
        if each.marker is None or each.marker.evaluate()
    }


def installed(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the installed ones of these packages, each with its version."""
    for name in names:
        try:
            yield name, importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue


def compiled(*arguments: str) -> str:
    """Return the locked versions, as lines of text, that uv computes for these arguments."""
    command = [sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--universal", "--python-version", "3.10"]
    options = ("--no-header", "--no-annotate", "--no-emit-index-url", "--no-emit-find-links")
    done = subprocess.run([*command, *options, *arguments], cwd=TREE, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout


def main() -> None:
    files = [str(path.relative_to(TREE)) for path in (*INPUTS, NO_DEPS)]
    extras = [f"--extra={extra}" for extra in EXTRAS]
    together = compiled("pyproject.toml", *extras, *files[:-1], "--constraint", "tools/build.txt")
    alone = compiled("--no-deps", files[-1])
    listed = sorted(set(together.splitlines() + alone.splitlines()))
    header = HEADER.format(inputs=", ".join(files))
    LOCK.write_text("\n".join([*header.splitlines(), *listed, ""]), encoding="utf-8")
    print(f"{LOCK.relative_to(TREE)}: {len(listed)} versions")


if __name__ == "__main__":
    main()
