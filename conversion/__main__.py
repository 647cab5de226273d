"""List the scripts of this folder, each with the first line of its docstring.

`python -m conversion.NAME --help` shows a script's whole docstring, with an example.

    $ python -m conversion
    python -m conversion.catalogue    Cartridges of many vocabularies, which a TOML file lists, with certificates.
    ...
    python -m conversion.tiktoken     A tiktoken encoding or rank file to a cartridge.
    ...
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

FOLDER = Path(__file__).parent


def scripts() -> Iterator[tuple[str, str]]:
    """Yield the name of each module that has a `main`, and the first line of its docstring. Imports no module."""
    for path in sorted(FOLDER.rglob("*.py"), key=lambda path: (len(path.parts), path)):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        defined |= {ast.unparse(node.targets[0]) for node in tree.body if isinstance(node, ast.Assign)}
        if "main" in defined and path.stem != "__main__":
            name = ".".join(path.relative_to(FOLDER.parent).with_suffix("").parts)
            yield name, (ast.get_docstring(tree) or "").split("\n")[0]


def main() -> None:
    """Print the list of scripts."""
    listed = list(scripts())
    width = max(len(name) for name, _ in listed)
    for name, about in listed:
        print(f"python -m {name:{width}}  {about}")


if __name__ == "__main__":
    main()
