"""Shared arguments of the commands, and the parser: help, errors, suggestions."""

from __future__ import annotations

import argparse
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from shutil import get_terminal_size
from typing import Any, NoReturn

from crayon_hf.cli.colour import Paint, paint_for
from crayon_hf.tokenizer_state.modes import MODES
from crayon_hf.util.numbers import count_of, size_of

_HEADING = re.compile(r"^(usage:|[A-Za-z][A-Za-z' ]*:$)", re.MULTILINE)
_OPTION = re.compile(r"(?<=^  )(-{1,2}[\w-]+(?:, -{1,2}[\w-]+)*|[a-z]+(?=  ))", re.MULTILINE)
_PLAIN: dict[str, Any] = {"color": False} if sys.version_info >= (3, 14) else {}  # Python's own colours

NAMED = "a path, a profile, an encoding of tiktoken, or a repository of the Hub (user/name)"
"""What names a tokenizer, in the order in which they are looked for."""

DEFAULT = "profile:lite"
"""The tokenizer of a command without ``-t``: the profile, also where a path is called ``lite``."""

_WIDEST = 100
_MOST_IN_USAGE = 6


class UsageError(Exception):
    """The command line itself is wrong."""


class _Help(argparse.RawDescriptionHelpFormatter):
    """Paragraphs as wide as the terminal and no wider than is read well; examples as they stand."""

    def __init__(self, prog: str, **named: Any) -> None:
        columns = min(get_terminal_size().columns, _WIDEST)
        super().__init__(prog, **{"max_help_position": 28, "width": max(columns - 2, 20), **named})

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        parts = text.strip("\n").split("\n\n")
        filled = (
            each if each.startswith("examples:") else textwrap.fill(each, width, break_on_hyphens=False)
            for each in parts
        )
        return "\n\n".join(filled)

    def add_usage(self, usage: Any, actions: Any, groups: Any, prefix: Any = None) -> None:
        """The usage, in which more than a few options are but [OPTIONS]: they are listed below it."""
        free = [each for each in actions if each.option_strings and not each.required]
        if usage is None and len(free) > _MOST_IN_USAGE:
            self._prog = f"{self._prog} [OPTIONS]"
            actions, groups = [each for each in actions if each not in free], []
        super().add_usage(usage, actions, groups, prefix)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        if not action.option_strings or action.nargs == 0:
            return super()._format_action_invocation(action)
        value = self._format_args(action, self._get_default_metavar_for_optional(action))
        return f"{', '.join(action.option_strings)} {value}"


class Parser(argparse.ArgumentParser):
    """A parser whose errors are UsageError and suggest what was meant, and whose help has colours on a terminal."""

    def __init__(self, **named: Any) -> None:
        super().__init__(**{"formatter_class": _Help, **_PLAIN, **named})
        self._positionals.title = "arguments"
        self.groups: Sequence[tuple[str, Sequence[str]]] = ()
        """Of a parser with commands: the headings under which its help lists them."""

    def error(self, message: str) -> NoReturn:
        """Wrong usage."""
        raise UsageError(f"{message} (try: {self.prog} --help)")

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse does, but for the suggestion where an option is unknown."""
        found, unknown = self.parse_known_args(args, namespace)
        if unknown:
            command = getattr(found, "command", self)
            known = [name for name in command._option_string_actions if name.startswith("--")]
            option = next((word for word in unknown if word.startswith("-")), "")
            command.error(f"unrecognized arguments: {' '.join(unknown)}{_meant(option.partition('=')[0], known)}")
        return found

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        choices = None if action.choices is None else list(action.choices)
        if choices is None or value in choices:
            return
        if isinstance(action, argparse._SubParsersAction):
            self.error(f"there is no command {value!r}{_meant(value, choices)}")
        listed = ", ".join(map(str, choices))
        raise argparse.ArgumentError(action, f"invalid choice: {value!r}{_meant(value, choices)} (there are {listed})")

    def format_help(self) -> str:
        """The help; that of a parser with commands lists these in groups."""
        commands = next((each for each in self._actions if isinstance(each, argparse._SubParsersAction)), None)
        if commands is None or not self.groups:
            return super().format_help()
        formatter = self._get_formatter()
        formatter.add_usage(self.usage, self._actions, self._mutually_exclusive_groups)
        formatter.add_text(self.description)
        rows = {row.dest: row for row in commands._choices_actions}
        for heading, names in self.groups:
            formatter.start_section(heading)
            formatter.add_arguments([rows[name] for name in names])
            formatter.end_section()
        formatter.start_section("options")
        formatter.add_arguments([each for each in self._actions if each is not commands])
        formatter.end_section()
        formatter.add_text(self.epilog)
        return formatter.format_help()

    def print_help(self, file: Any = None) -> None:
        """Print it, in colours where the terminal has them and nobody asked for none."""
        stream: Any = sys.stdout if file is None else file
        self._print_message(_coloured(self.format_help(), paint_for(stream, "auto")), stream)


def _coloured(text: str, paint: Paint) -> str:
    if not paint.enabled:
        return text
    return _OPTION.sub(lambda found: paint.name(found[0]), _HEADING.sub(lambda found: paint.strong(found[0]), text))


def _meant(word: str, known: Iterable[str]) -> str:
    """``: did you mean ...?``, if something is like it."""
    close = get_close_matches(word, [str(each) for each in known], 1, 0.6)
    return f": did you mean {close[0]!r}?" if close else ""


def add_command(
    subparsers: Any,
    name: str,
    run: Callable[[argparse.Namespace], int],
    help: str,
    description: str,
    examples: Sequence[tuple[str, str]] = (),
) -> argparse.ArgumentParser:
    """A command of this name; ``run`` takes the parsed arguments and returns the exit code.

    `examples` are command lines, and what each is for. The tests run them.
    """
    command: argparse.ArgumentParser = subparsers.add_parser(
        name, help=help, description=description, epilog=listed(examples)
    )
    command.set_defaults(run=run, command=command)
    return command


def listed(examples: Sequence[tuple[str, str]]) -> str | None:
    """Examples as help shows them."""
    if not examples:
        return None
    room = _WIDEST - 6 - max(len(says) for _, says in examples)
    width = max((len(line) for line, says in examples if says and len(line) <= room), default=0)
    rows = (f"  {line:<{width}}  {says}".rstrip() for line, says in examples)
    return "\n".join(["examples:", *rows])


def add_tokenizer(command: argparse.ArgumentParser, has_default: bool = True) -> None:
    """``--tokenizer``, with a default or required."""
    default = ' (default: the profile "lite")' if has_default else ""
    command.add_argument(
        "-t",
        "--tokenizer",
        default=DEFAULT if has_default else None,
        required=not has_default,
        metavar="NAME_OR_PATH",
        help=f"{NAMED}{default}",
    )


def add_mode(command: argparse.ArgumentParser) -> None:
    """``--mode``."""
    command.add_argument(
        "--mode",
        choices=MODES,
        default="exact",
        help="exact: the reference's ids; greedy: longest match (default: %(default)s)",
    )


def add_special(command: argparse.ArgumentParser, takes_bytes: bool = True) -> None:
    """How special tokens and bytes that are no text are taken."""
    command.add_argument("--no-special", action="store_true", help="do not add special tokens around the text")
    command.add_argument(
        "--special-as-text", action="store_true", help="read special tokens inside the text as ordinary text"
    )
    if takes_bytes:
        command.add_argument(
            "--bytes", action="store_true", help="read the input as bytes, which need not be UTF-8; nothing is lost"
        )


def number(text: str) -> int:
    """A number: ``32000``, ``32k``, ``1M``."""
    try:
        return count_of(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def size(text: str) -> int:
    """A number of bytes: ``16M``, ``1G``."""
    try:
        return size_of(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
