"""A contract for import-linter, ``no_circles`` in pyproject.toml: no module imports itself through other modules.

The contracts of import-linter compare packages. This one compares modules, including a package's ``__init__``. Imports
inside functions, and those for type checkers only, count.
"""

from __future__ import annotations

from grimp import ImportGraph, build_graph
from importlinter import Contract, ContractCheck, fields, output


class NoCircles(Contract):
    """A contract that is kept if the graph of imports has no circle. ``from PACKAGE import EXTENSION`` imports only the
    extension."""

    type_name = "no_circles"

    packages = fields.ListField(fields.StringField())
    extension = fields.StringField()

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Report a circle for each import that closes one. The graph of the other contracts lacks imports for types."""
        names: list[str] = list(self.packages)  # type: ignore[call-overload]
        graph = build_graph(*names, cache_dir=None)
        package, _, extension = str(self.extension).rpartition(".")
        for importer in graph.find_modules_that_directly_import(package):
            details = graph.get_import_details(importer=importer, imported=package)
            if all(extension in detail["line_contents"] for detail in details):
                graph.remove_import(importer=importer, imported=package)
        circles: dict[frozenset[str], tuple[str, ...]] = {}
        for importer in sorted(graph.modules):
            for imported in sorted(graph.find_modules_directly_imported_by(importer)):
                back = graph.find_shortest_chain(importer=imported, imported=importer)
                if back is not None:
                    circles.setdefault(frozenset(back), (importer, *back))
        return ContractCheck(kept=not circles, metadata={"circles": list(circles.values())})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print each circle in a line."""
        for circle in check.metadata["circles"]:
            output.print_error(" -> ".join(circle))
