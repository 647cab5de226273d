"""Completion of commands, options and names in a shell, by the package ``argcomplete``."""

from __future__ import annotations

import argparse
import os
from typing import Any

from crayon_hf.cli.arguments import add_command
from crayon_hf.cli.output import print_line
from crayon_hf.util.extras import how_to_install, needed

SHELLS = ("bash", "zsh", "fish")


def add_completion(subparsers: Any) -> None:
    """What ``completion`` takes."""
    command = add_command(
        subparsers,
        "completion",
        completion,
        "print completion code for bash, zsh and fish",
        "Prints shell code with which the Tab key completes commands, options and the names of profiles.\n"
        f"It needs the package argcomplete: {how_to_install('completion')}.",
        (
            ("crayon-hf completion bash >> ~/.bashrc", "for bash"),
            ("crayon-hf completion zsh >> ~/.zshrc", "for zsh, behind compinit"),
            ("crayon-hf completion fish > ~/.config/fish/completions/crayon-hf.fish", ""),
        ),
    )
    command.add_argument("shell", choices=SHELLS, help="which shell")


def completion(arguments: argparse.Namespace) -> int:
    """Print the code for a shell."""
    with needed("completion", "completion"):
        import argcomplete
        import argcomplete.shell_integration
    print_line(argcomplete.shell_integration.shellcode(["crayon-hf"], shell=arguments.shell).rstrip())
    return 0


def complete(parser: argparse.ArgumentParser) -> None:
    """Answer a shell that asks what may follow, and end the process; nothing where no shell asks."""
    if "_ARGCOMPLETE" not in os.environ:
        return
    with needed("completion", "completion"):
        import argcomplete
    for command in _commands(parser).values():
        for action in command._actions:
            if "--tokenizer" in action.option_strings or action.dest == "target":
                action.completer = _names  # type: ignore[attr-defined]
    argcomplete.autocomplete(parser)


def _commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    found: Any = next(action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    return dict(found.choices)


def _names(prefix: str, **_: Any) -> list[str]:
    """Profiles and encodings; files."""
    import argcomplete

    from crayon_hf.cartridges.search_path import profile_names, search_path
    from crayon_hf.formats.tiktoken import KNOWN_ENCODINGS

    names = [name for directory in search_path() for name in profile_names(directory)]
    return [*names, *KNOWN_ENCODINGS, *argcomplete.completers.FilesCompleter()(prefix)]
