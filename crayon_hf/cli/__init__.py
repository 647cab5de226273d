"""The command line: ``crayon-hf``, or ``python -m crayon_hf``."""

from __future__ import annotations

import os
import signal
import sys
import warnings
from collections.abc import Sequence

from crayon_hf.cli.interrupts import ending_at_once
from crayon_hf.cli.output import say, wants_colours
from crayon_hf.errors import AmbiguousNameWarning, CrayonError, DelegatedWarning
from crayon_hf.util.wording import error_line

__all__ = ["main"]

FAILED, USAGE = 1, 2
BROKEN_PIPE = 128 + 13  # a shell's status for a death by SIGPIPE


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status: 0 for success, 1 for bad data or files, 2 for wrong usage.

    Without a command it prints the help on standard error and returns 2.
    """
    for stream, name in ((sys.stdin, "input"), (sys.stdout, "output")):
        if stream is None:
            return _fail(f"standard {name} is closed", FAILED)
    with ending_at_once():
        from click import echo
        from click.exceptions import Exit, UsageError

        from crayon_hf.cli.completion import VARIABLE
        from crayon_hf.cli.parser import commands, help_of
    if VARIABLE in os.environ:
        commands.main(prog_name="crayon-hf", complete_var=VARIABLE)
    colours = None if wants_colours() else False
    given = list(sys.argv[1:] if argv is None else argv)
    if not given:
        echo(help_of(), err=True, color=colours)
        return USAGE
    if given[:1] != ["run"]:  # `run` leaves the environment of the program alone
        os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")  # commands and their libraries send no telemetry
    try:
        with (
            warnings.catch_warnings(),
            commands.make_context("crayon-hf", given, color=colours) as context,
        ):
            for category in (AmbiguousNameWarning, DelegatedWarning):
                warnings.simplefilter("default", category)
            warnings.showwarning = _show_warning
            code: int = commands.invoke(context)
        sys.stdout.flush()
        return code
    except Exit as done:
        return done.exit_code
    except UsageError as error:
        advice = f" (try: {error.ctx.command_path} --help)" if error.ctx else ""
        return _fail(error.format_message() + advice, USAGE)
    except BrokenPipeError:
        # The reader has gone. Buffered output must not raise the error again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except KeyboardInterrupt as interrupt:
        return 128 + getattr(interrupt, "signal", signal.SIGINT)
    except (OSError, CrayonError, ValueError, OverflowError, MemoryError) as error:
        return _fail(error_line(error), FAILED)


def _fail(message: str, code: int) -> int:
    say(f"error: {message}")
    return code


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    say(f"warning: {message}")
