"""Declare commands with click, and the options and arguments that several commands share."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import click

from crayon_hf.tokenizer_state.modes import MODES
from crayon_hf.util.numbers import count_of, size_of

NAMED = "a path, a profile, a tiktoken encoding, or a Hub repository (user/name)"
"""The help for names of tokenizers, in the order of their lookup."""

DEFAULT = "profile:lite"
"""The tokenizer of a command without ``-t``: always the profile, even if a path is called ``lite``."""

Arguments = SimpleNamespace
"""The values of a command's options and arguments, by name."""

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

option, UsageError = click.option, click.UsageError

_NEGATIVE = re.compile(r"-\d+|-\d*\.\d+")


class HelpFormatter(click.HelpFormatter):
    """Bold headings, and commands and options in colour. click removes colours outside terminals."""

    def write_heading(self, heading: str) -> None:
        """Write a heading."""
        super().write_heading(click.style(heading, bold=True))

    def write_dl(self, rows: Any, col_max: int = 30, col_spacing: int = 2) -> None:
        """Write a table of names and their meanings."""
        super().write_dl([(click.style(name, fg="cyan"), text) for name, text in rows], col_max, col_spacing)


class Context(click.Context):
    """The context of a command, with help in colour."""

    formatter_class = HelpFormatter


class Argument(click.Argument):
    """An argument with a help text. click has this itself since 8.5."""

    def __init__(self, *arguments: Any, help: str, **settings: Any) -> None:
        """Like click's, with a text for the help."""
        super().__init__(*arguments, **settings)
        self.help: str = help


def argument(*names: str, **settings: Any) -> Decorator:
    """Like `click.argument`, with a text for the help."""
    return click.argument(*names, cls=Argument, **settings)


class Command(click.Command):
    """A command whose function takes all values as one object and returns the exit status."""

    context_class = Context

    def __init__(
        self,
        name: str,
        *,
        examples: Sequence[tuple[str, str]] = (),
        alternatives: Sequence[str] = (),
        **settings: Any,
    ) -> None:
        """`examples` are command lines with their purpose. Only one of the options in `alternatives` may be given."""
        super().__init__(name, **settings)
        self.examples, self.alternatives = examples, alternatives

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse words and options. An option takes one value, unless it may be repeated."""
        if not ctx.resilient_parsing:
            options, words = self._split(ctx, args)
            args = [*options, "--", *words]
        return super().parse_args(ctx, args)

    def _split(self, ctx: click.Context, args: list[str]) -> tuple[list[str], list[str]]:
        """Separate options and their values from words. Negative numbers and texts like ``- a b`` are words."""
        known = {name: each for each in self.get_params(ctx) if isinstance(each, click.Option) for name in each.opts}
        given: dict[str, str] = {}
        options: list[str] = []
        words: list[str] = []
        left = list(args)
        while left and left[0] != "--":
            name, has_value, value = left[0].partition("=")
            if name not in known and not name.startswith("--"):  # -n5
                name, has_value, value = name[:2], left[0][2:], left[0][2:]
            if name not in known:
                (words if _is_word(left[0]) else options).append(left.pop(0))
                continue
            found = known[name]
            if found.is_flag:
                options.append(left.pop(0))
                continue
            left.pop(0)
            if not has_value:
                if not left or left[0] in known:
                    raise click.BadOptionUsage(name, f"Option {name!r} requires an argument.", ctx)
                value = left.pop(0)
            if not found.multiple and given.setdefault(found.name or name, value) != value:
                raise UsageError(f"{name} takes one value, not both {given[found.name or name]} and {value}", ctx)
            options += [name, value]
            while found.name == "file" and not has_value and left and _is_word(left[0]):  # -f takes several
                options += [name, left.pop(0)]
        if len(both := [name for name in self.alternatives if name in given]) > 1:
            raise UsageError(f"--{both[0]} and --{both[1]} cannot be combined", ctx)
        return options, [*words, *left[1:]]

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. Errors that name an argument of a Python function are made to name the option."""
        assert self.callback is not None
        try:
            return self.callback(Arguments(**ctx.params))
        except UsageError as error:
            word = error.message.partition(" ")[0].rstrip(":")
            option = next((each for each in self.params if isinstance(each, click.Option) and each.name == word), None)
            if option is None:
                raise
            raise UsageError(option.opts[-1] + error.message[len(word) :], error.ctx) from error

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the arguments, then the options."""
        arguments = [parameter for parameter in self.get_params(ctx) if isinstance(parameter, Argument)]
        rows = [(argument.human_readable_name, argument.help) for argument in arguments]
        if rows:
            with formatter.section("Arguments"):
                formatter.write_dl(rows)
        super().format_options(ctx, formatter)

    def format_arguments(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write nothing: click 8.5 would write the arguments before the options."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples."""
        write_examples(formatter, self.examples)


def write_examples(formatter: click.HelpFormatter, examples: Sequence[tuple[str, str]]) -> None:
    """Write command lines and their purposes."""
    with formatter.section("Examples"):
        formatter.write_dl(examples, col_max=55)


def _is_word(text: str) -> bool:
    return not text.startswith("-") or text == "-" or " " in text or _NEGATIVE.fullmatch(text) is not None


def command(name: str, **settings: Any) -> Callable[[Callable[[Arguments], int]], Command]:
    """Decorate a function as a `Command`, with its docstring as help."""
    return click.command(name, cls=Command, **settings)


def together(*decorators: Decorator) -> Decorator:
    """Combine several options and arguments, in order."""

    def apply(function: Callable[..., Any]) -> Callable[..., Any]:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return apply


class Parsed(click.ParamType):  # type: ignore[type-arg]  # generic since 8.4
    """A value parsed by a function, whose ValueError becomes a usage error."""

    def __init__(self, name: str, parse: Callable[[str], Any]) -> None:
        """`name` is shown in capitals for the value in help."""
        self.name, self.parse = name, parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Parse a text. Return any other value, such as a default, unchanged."""
        try:
            return self.parse(value) if isinstance(value, str) else value
        except ValueError as error:
            self.fail(str(error), param, ctx)


NUMBER = Parsed("n", count_of)
"""A number: ``32000``, ``32k``, ``1M``."""

SIZE = Parsed("size", size_of)
"""A number of bytes: ``16M``, ``1G``."""


def complete_names(context: click.Context, parameter: click.Parameter, incomplete: str) -> Any:
    """Return the profiles and encodings that begin with `incomplete`, or complete a file name if none does."""
    from click.shell_completion import CompletionItem

    from crayon_hf.cartridges.search_path import profile_names, search_path
    from crayon_hf.formats.tiktoken import KNOWN_ENCODINGS

    names = [*(name for directory in search_path() for name in profile_names(directory)), *KNOWN_ENCODINGS]
    found = [CompletionItem(name) for name in names if name.startswith(incomplete)]
    return found or [CompletionItem(incomplete, type="file")]


TOKENIZER = option(
    *("-t", "--tokenizer"),
    default=DEFAULT,
    metavar="NAME_OR_PATH",
    shell_complete=complete_names,
    help=f'{NAMED} (default: the profile "lite")',
)
TARGET = argument(
    "target", required=False, shell_complete=complete_names, help=f'{NAMED} (default: the profile "lite")'
)
MODE = option(
    "--mode",
    type=click.Choice(MODES),
    default="exact",
    show_default=True,
    help="exact: the reference's ids; greedy: longest match",
)
JSON = option("--json", is_flag=True, help="print one JSON object")
SPECIAL_AS_TEXT = option("--special-as-text", is_flag=True, help="encode special tokens in the text as ordinary text")
SPECIAL = together(
    option("--no-special", is_flag=True, help="do not add special tokens around the text"), SPECIAL_AS_TEXT
)
BYTES = option("--bytes", is_flag=True, help="encode the input as bytes, which need not be UTF-8")
