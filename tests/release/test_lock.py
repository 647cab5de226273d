"""tests/lock.txt pins the packages that tests install: it is complete, every file that installs packages uses it, and
CI has the pinned versions."""

from __future__ import annotations

from collections.abc import Iterator

import lock
import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.support.libraries import INSTALLED

tomllib = pytest.importorskip("tomllib")  # Python 3.11

ROOT = lock.TREE
PLACES = [
    {"python_version": f"3.{minor}", "python_full_version": f"3.{minor}.9", "sys_platform": system, **machine}
    for minor in range(10, 15)
    for system, machine in (
        ("linux", {"platform_machine": "x86_64", "os_name": "posix", "platform_system": "Linux"}),
        ("linux", {"platform_machine": "aarch64", "os_name": "posix", "platform_system": "Linux"}),
        ("darwin", {"platform_machine": "arm64", "os_name": "posix", "platform_system": "Darwin"}),
        ("win32", {"platform_machine": "AMD64", "os_name": "nt", "platform_system": "Windows"}),
    )
]
"""The Pythons and systems on which ci.yml runs README's command."""


def holds(marker: Marker | None, place: dict[str, str] | None = None) -> bool:
    return marker is None or marker.evaluate(place)


def wanted() -> Iterator[Requirement]:
    """The requirements in the files that pip gets with the lock, and of the package with its extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    assert set(lock.EXTRAS) <= set(extras)
    assert set(extras) - set(lock.EXTRAS) == {"bench", "langchain", "llama-index", "haystack", "chonkie"}
    for path in (*lock.INPUTS, lock.NO_DEPS):
        yield from lock.requirements(path)
    for name in ("", *lock.EXTRAS):
        listed = map(Requirement, extras[name] if name else project["dependencies"])
        yield from (each for each in listed if each.name != project["name"])


def test_each_requirement_has_one_version_everywhere() -> None:
    pins = lock.requirements(lock.LOCK)
    assert [str(each) for each in pins if not str(each.specifier).startswith("==")] == []
    for need in wanted():
        for place in PLACES:
            found = [pin for pin in pins if pin.name == canonicalize_name(need.name) and holds(pin.marker, place)]
            if holds(need.marker, place):
                assert len(found) == 1, (str(need), place)
                assert need.specifier.contains(str(found[0].specifier).removeprefix("==")), (str(need), str(found[0]))


def test_no_registry_is_named() -> None:
    lines = lock.LOCK.read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if "://" in line or line.startswith("-")] == []


@pytest.mark.parametrize("installed", ["light", pytest.param("all", marks=pytest.mark.slow)])
def test_what_is_installed_is_the_locks(installed: str) -> None:
    """In CI all required packages are installed, and each installed package that the lock lists has the pinned
    version."""
    if installed != INSTALLED:
        pytest.skip(f"CRAYON_TESTS is not {installed}")
    pinned = lock.pinned()
    found = dict(lock.installed(pinned))
    files = lock.INPUTS[:2] if installed == "all" else lock.INPUTS[:1]
    names = {canonicalize_name(each.name) for file in files for each in lock.requirements(file) if holds(each.marker)}
    assert names - set(found) == set()
    different = {name: (found[name], pinned[name]) for name in found if found[name].partition("+")[0] != pinned[name]}
    assert different == {}
