"""A Sphinx directive, ``{all-commands}``: a section for each command, with what its ``--help`` prints."""

from __future__ import annotations

import argparse
import os
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive


class AllCommands(Directive):
    """From the parser itself, so that the page has whatever the command line has."""

    def run(self) -> list[nodes.Node]:
        from crayon_hf.cli.parser import GROUPS, build_parser

        os.environ["COLUMNS"] = "90"
        parser = build_parser()
        (commands,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
        return [
            _section("crayon-hf", parser),
            *(_section(name, commands.choices[name]) for _, group in GROUPS for name in group),
        ]


def _section(name: str, parser: argparse.ArgumentParser) -> nodes.section:
    section = nodes.section(ids=[f"command-{name}"])
    text = parser.format_help()
    section += nodes.title(text=name)
    section += nodes.literal_block(text, text, language="text")
    return section


def setup(app: Any) -> dict[str, Any]:
    app.add_directive("all-commands", AllCommands)
    return {"parallel_read_safe": True}
