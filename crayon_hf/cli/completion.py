"""Completion of commands, options and names in a shell."""

from __future__ import annotations

import click

from crayon_hf.cli.arguments import Arguments, argument, command
from crayon_hf.cli.output import print_line

VARIABLE = "_CRAYON_HF_COMPLETE"
"""The environment variable with which shells ask for completions."""


@command(
    "completion",
    examples=(
        ("crayon-hf completion bash >> ~/.bashrc", "for bash"),
        ("crayon-hf completion zsh >> ~/.zshrc", "for zsh, after compinit"),
        ("crayon-hf completion fish > ~/.config/fish/completions/crayon-hf.fish", ""),
    ),
)
@argument("shell", type=click.Choice(("bash", "zsh", "fish")), help="the shell")
def completion(arguments: Arguments) -> int:
    """Prints shell code that lets the Tab key complete commands, options and names of profiles."""
    from click.shell_completion import get_completion_class

    from crayon_hf.cli.parser import commands

    shell = get_completion_class(arguments.shell)
    assert shell is not None
    print_line(shell(commands, {}, "crayon-hf", VARIABLE).source().rstrip())
    return 0
