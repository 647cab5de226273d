"""Checks that no two files of the engine define a type or an inline function of the same name.

    python tools/check_names.py [ROOT]

The linker keeps one of the two definitions for both. C++ forbids that, but compilers do not report it. Names in unnamed
namespaces do not count. Prints each name that several files define. The exit status is 1 if it finds any.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

_NOISE = re.compile(
    r"//[^\n]*|/\*.*?\*/|^[ \t]*#(?:\\\n|[^\n])*|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])'", re.DOTALL | re.MULTILINE
)
_NAMESPACE = re.compile(r"(?:inline )?namespace\s*([\w:]*)")
_TYPE = re.compile(
    r"(?:template\s*<.*>\s*)?(?:struct|class|union)\s+(?:alignas\([^)]*\)\s*)?([\w:]+)[^()=]*", re.DOTALL
)
_FUNCTION = re.compile(
    r"(?P<before>(?:\w[\w:<>,*& ]*)?\b(?:inline|constexpr)\b[\w:<>,*&\s]*?)\b(?P<name>\w+)\s*\((?P<arguments>[^()]*)\)",
    re.DOTALL,
)
_SUFFIXES = (".h", ".cpp", ".inc")


def definitions(text: str) -> Iterator[str]:
    """Yield a file's definitions with external linkage: ``crayon::Name``, or ``crayon::name(types)``."""
    scopes: list[str | None] = []  # names of namespaces; None for unnamed ones and other blocks
    said = ""
    for part in re.split(r"([{};])", _NOISE.sub(" ", text)):
        if part == "{":
            head = said.strip()
            namespace = _NAMESPACE.fullmatch(head)
            if namespace is None and None not in scopes:
                found = _name_of(head)
                if found is not None:
                    yield "::".join([*map(str, scopes), found])
            scopes.append(namespace[1] or None if namespace else None)
        elif part == "}" and scopes:
            scopes.pop()
        said = "" if part in ("{", "}", ";") else said + part


def _name_of(head: str) -> str | None:
    """Return the name of the type or function that `head`, the text before a brace, defines."""
    if (kind := _TYPE.fullmatch(head)) is not None:
        return kind[1]
    function = _FUNCTION.match(head)
    if function is None or "static" in function["before"] or "operator" in head:
        return None
    types = [re.sub(r"\s+\w+$", "", argument.strip()) for argument in function["arguments"].split(",")]
    return f"{function['name']}({', '.join(types)})"


def several(root: Path) -> list[str]:
    """Return a line for each name that more than one file defines."""
    files: dict[str, set[str]] = defaultdict(set)
    for path in sorted((root / "cpp").rglob("*")):
        if path.suffix in _SUFFIXES:
            for name in definitions(path.read_text(encoding="utf-8")):
                files[name].add(path.relative_to(root).as_posix())
    return [f"{name}: {', '.join(sorted(where))}" for name, where in sorted(files.items()) if len(where) > 1]


if __name__ == "__main__":
    found = several(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[1])
    print("\n".join(found), end="\n" if found else "")
    sys.exit(1 if found else 0)
