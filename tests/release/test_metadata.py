"""The package's version has one source, and pyproject.toml agrees with the source files."""

from __future__ import annotations

import ast
import importlib.metadata
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lock
import pytest
from setuptools import find_packages

import crayon_hf
from crayon_hf import _core

tomllib = pytest.importorskip("tomllib")  # Python 3.11

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def said() -> dict[str, Any]:
    with (ROOT / "pyproject.toml").open("rb") as file:
        document: dict[str, Any] = tomllib.load(file)
    return document


def test_one_version(said: dict[str, Any]) -> None:
    version = said["project"]["version"]
    assert crayon_hf.__version__ == _core.__version__ == version
    command = [sys.executable, "-m", "crayon_hf", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["crayon-hf", version]
    try:
        installed = importlib.metadata.version("crayon-hf")
    except importlib.metadata.PackageNotFoundError:
        pass  # the tests may run on a build that is not installed
    else:
        assert installed == version
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (\d\S*)", changelog, re.MULTILINE)[0] == version
    names = [path for path in ROOT.glob("c*/**/*") if path.suffix in (".py", ".cpp", ".h", ".pyi")]
    assert len(names) > 300
    assert [str(path) for path in names if f'"{version}"' in path.read_text(encoding="utf-8")] == []


def test_all_packages_are_named(said: dict[str, Any]) -> None:
    tool = said["tool"]["setuptools"]
    found, data = set(), set()
    for path in (ROOT / "crayon_hf").rglob("*"):
        inside = path.relative_to(ROOT).parent.parts
        if path.suffix == ".py":
            found.add(".".join(inside))
        elif path.is_file() and "__pycache__" not in inside and path.suffix not in (".so", ".pyd"):
            data.add((".".join(inside), path.name))
    assert set(find_packages(str(ROOT), **tool["packages"]["find"])) == found
    assert {name.partition(".")[0] for name in found} == {"crayon_hf"}  # without the scripts in conversion and parity
    for package, name in data:
        assert any(Path(name).match(pattern) for pattern in tool["package-data"].get(package, ())), (package, name)


OF_PACKAGES = {
    "awkward": "gigatoken",
    "crayon": "xerv_crayon",
    "haystack": "haystack_ai",
    "langchain_core": "langchain_text_splitters",
    "llama_index": "llama_index_core",
    "markdown_it": "markdown_it_py",
    "markupsafe": "jinja2",
    "regex": "tiktoken",
    "tiktoken_ext": "tiktoken",
    "typing_extensions": "mypy",
    "yaml": "pyyaml",
}
"""Packages by the names of modules that are not called like their package."""

ONLY_IF_THERE = {"llama_cpp"}
"""Packages that parity suites compare with if they are installed."""


def imported(tree: ast.Module) -> Iterator[str]:
    """The modules that a file names: in statements, and in strings for `import_module` and `find_spec`."""
    assigned = (node for node in tree.body if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant))
    constants = {getattr(node.targets[0], "id", ""): node.value.value for node in assigned}  # type: ignore[attr-defined]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module or ""
        elif isinstance(node, ast.Call) and node.args:
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            given = node.args[0]
            name = given.value if isinstance(given, ast.Constant) else constants.get(getattr(given, "id", ""))
            if called in ("import_module", "find_spec", "__import__") and isinstance(name, str):
                yield name


def test_what_is_imported_is_required(said: dict[str, Any]) -> None:
    """Every import in the package and the parity suites is of our own modules, of Python's, or of a package that
    pyproject.toml requires, perhaps in an extra."""
    project = said["project"]
    needs = [*project["dependencies"], *(need for extra in project["optional-dependencies"].values() for need in extra)]
    needs += [each.name for path in lock.INPUTS for each in lock.requirements(path)]  # imported if installed
    names = {re.split(r"[^\w-]", need)[0].lower().replace("-", "_") for need in needs}
    names |= {module for module, package in OF_PACKAGES.items() if package in names}
    names |= {"crayon_hf", "parity", *ONLY_IF_THERE, *sys.stdlib_module_names}
    found = {
        (name.partition(".")[0], str(path.relative_to(ROOT)))
        for folder in ("crayon_hf", "parity")
        for path in (ROOT / folder).rglob("*.py")
        for name in imported(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert len(found) > 500
    assert {("sentencepiece", "parity/sentencepiece/__main__.py"), ("tiktoken", "crayon_hf/tiktoken/core.py")} <= found
    assert sorted((name, file) for name, file in found if name not in names) == []
    assert {*OF_PACKAGES, *ONLY_IF_THERE} <= {name for name, _ in found}
