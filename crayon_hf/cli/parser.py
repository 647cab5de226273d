"""The commands, and the groups in which the help lists them. A command's module is imported when it is run."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

import click

from crayon_hf import __version__
from crayon_hf.cli.arguments import Command, Context, UsageError, write_examples
from crayon_hf.cli.interrupts import ending_at_once

GROUPS = {
    "Texts and ids": {
        "encode": ("commands:encode", "encode text to ids"),
        "decode": ("commands:decode", "decode ids to text"),
        "count": ("counting:count", "count the tokens of texts and files"),
        "truncate": ("truncating:truncate", "cut texts to a number of tokens"),
        "split": ("split:split", "split texts and files into chunks of tokens"),
        "inspect": ("inspect:inspect", "show the tokens of a text"),
        "playground": ("playground:playground", "a page that shows tokens while you type"),
    },
    "Tokenizers": {
        "compare": ("comparing:compare", "compare tokenizers on your own texts"),
        "info": ("describing:info", "show what a tokenizer is"),
        "list": ("describing:list_profiles", "list the profiles on this machine"),
        "convert": ("conversion:convert", "convert any vocabulary to a cartridge, a directory or another form"),
        "train": ("training:train", "train a tokenizer from files"),
        "extend": ("surgery:extend", "train a BPE vocabulary further"),
        "shrink": ("surgery:shrink", "make a BPE vocabulary smaller"),
        "cache": ("storing:cache", "show or clear the cache of compiled vocabularies"),
    },
    "Corpora": {
        "tokenize": ("tokenize:tokenize", "tokenize a corpus into token files"),
        "corpus-report": ("corpus_report:corpus_report", "report on the contents of token files"),
    },
    "The Hub": {
        "pull": ("hub:pull", "make a profile of a repository on the Hub"),
        "publish": ("publish:publish", "publish a tokenizer to the Hub"),
    },
    "Parity": {"parity": ("parity:parity", "compare with the reference library")},
    "Programs and shells": {
        "run": ("running:run", "run a Python program with these tokenizers"),
        "completion": ("completion:completion", "print completion code for bash, zsh and fish"),
    },
}
"""The commands of each group: module and function, and the line of help."""

COMMANDS = {name: row for group in GROUPS.values() for name, row in group.items()}

EXAMPLES = (
    ('crayon-hf encode "Hello, world!"', "the ids of a text"),
    ("crayon-hf decode 23071 11 1125 0", "back to text"),
    ('crayon-hf inspect "Hello, world!"', "its tokens in colour"),
    ("crayon-hf count book.txt poem.txt", "how many tokens files have"),
    ("crayon-hf train book.txt -o my-model/ --vocab-size 1k", "train your own tokenizer"),
    ("crayon-hf info my-model/", "show what a tokenizer is"),
    ("crayon-hf tokenize data/ -o tokens/ -t my-model/", "tokenize a corpus into token files"),
)


class _Group(click.Group):
    context_class = Context

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[Any, Any, list[str]]:
        """Find the named command. For a Python file, the error names ``run``."""
        word = args[0]
        if word not in COMMANDS and word.endswith((".py", ".pyz")) and os.path.isfile(word):
            raise UsageError(f"unknown command {word!r}: crayon-hf run {word} runs a program", ctx)
        name, found, rest = super().resolve_command(ctx, args)
        return name, found and load(str(name)), rest

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands, group by group."""
        for heading, commands in GROUPS.items():
            with formatter.section(heading):
                formatter.write_dl([(name, says) for name, (_, says) in commands.items()])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples, and the names of tokenizers."""
        write_examples(formatter, EXAMPLES)
        formatter.write_paragraph()
        formatter.write_text(str(self.epilog))


def load(name: str) -> Command:
    """Import the module of a command, and return the command."""
    module, _, attribute = COMMANDS[name][0].partition(":")
    with ending_at_once():
        found: Command = getattr(import_module(f"crayon_hf.cli.{module}"), attribute)
    return found


@click.group(
    cls=_Group,
    commands=[click.Command(name, short_help=says) for name, (_, says) in COMMANDS.items()],
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="A tokenizer (-t) is a path to a tokenizer.json, a directory, a cartridge (.dat), a GGUF file, a "
    "SentencePiece model, a rank file and so on. Or it is the name of a profile (crayon-hf list), of a tiktoken "
    "encoding or of a Hub repository (user/name). A path comes first; ./lite is always a path, profile:lite a profile. "
    'The default is the profile "lite", which is part of the package.',
)
@click.version_option(__version__, message="%(prog)s %(version)s")
def commands() -> None:
    """Text to token ids and back: the same ids as tokenizers and tiktoken, many times faster."""


def help_of(name: str = "") -> str:
    """Return the help of a command, or without a name that of ``crayon-hf``. `click.echo` may remove its colours."""
    context = commands.make_context("crayon-hf", [], resilient_parsing=True)
    if name:
        context = load(name).make_context(name, [], parent=context, resilient_parsing=True)
    return str(context.get_help())
