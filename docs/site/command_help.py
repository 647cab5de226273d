"""A Sphinx directive, ``{all-commands}``: a section for each command, with its ``--help``."""

from __future__ import annotations

import os
from typing import Any

import click
from docutils import nodes
from docutils.parsers.rst import Directive


class AllCommands(Directive):
    """Takes the help from the commands themselves, so the page always lists all of them."""

    def run(self) -> list[nodes.Node]:
        from crayon_hf.cli.parser import COMMANDS, help_of

        os.environ["COLUMNS"] = "90"
        return [_section("crayon-hf", help_of()), *(_section(name, help_of(name)) for name in COMMANDS)]


def _section(name: str, text: str) -> nodes.section:
    section = nodes.section(ids=[f"command-{name}"])
    section += nodes.title(text=name)
    text = click.unstyle(text)
    section += nodes.literal_block(text, text, language="text")
    return section


def setup(app: Any) -> dict[str, Any]:
    app.add_directive("all-commands", AllCommands)
    return {"parallel_read_safe": True}
