"""The command line: ``crayon-hf``, or ``python -m crayon_hf``."""

from __future__ import annotations

import os
import signal
import sys
import warnings
from collections.abc import Sequence

from crayon_hf.cli import running
from crayon_hf.cli.arguments import Parser, UsageError
from crayon_hf.cli.completion import complete
from crayon_hf.cli.interrupts import ending_at_once
from crayon_hf.errors import AmbiguousNameWarning, CrayonError, DelegatedWarning

__all__ = ["main"]

OK, FAILED, USAGE = 0, 1, 2
BROKEN_PIPE = 128 + 13  # as a shell reports a death by SIGPIPE


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0 done, 1 something is wrong with data or a file, 2 wrong usage.

    Without a command the help goes to standard error, which is wrong usage.
    """
    for stream, name in ((sys.stdin, "input"), (sys.stdout, "output")):
        if stream is None:
            return _fail(f"standard {name} is closed", FAILED)
    try:
        parser = _parser()
        complete(parser)
        if not (sys.argv[1:] if argv is None else argv):
            parser.print_help(sys.stderr)
            return USAGE
        arguments = parser.parse_args(argv)
        if arguments.run is not running.run:  # a program that is run is not ours
            os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")  # nothing is reported by a command and its libraries
        with warnings.catch_warnings():
            for category in (AmbiguousNameWarning, DelegatedWarning):
                warnings.simplefilter("default", category)
            warnings.showwarning = _show_warning
            code: int = arguments.run(arguments)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # Nobody reads any more; what is still buffered must not complain about that at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except KeyboardInterrupt as interrupt:
        return 128 + getattr(interrupt, "signal", signal.SIGINT)
    except UsageError as error:
        return _fail(str(error), USAGE)
    except OSError as error:
        named = error.filename is not None and error.strerror is not None
        return _fail(f"{error.filename}: {error.strerror}" if named else str(error), FAILED)
    except (CrayonError, ValueError, OverflowError, MemoryError) as error:
        return _fail(str(error) or type(error).__name__, FAILED)


def _parser() -> Parser:
    """The parser of all commands, whose modules are imported here."""
    with ending_at_once():
        from crayon_hf.cli.parser import build_parser

        return build_parser()


def _fail(message: str, code: int) -> int:
    print(f"crayon-hf: error: {_line(message)}", file=sys.stderr)
    return code


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    print(f"crayon-hf: warning: {_line(str(message))}", file=sys.stderr)


def _line(message: str) -> str:
    """The message in one line, which does nothing to a terminal, whatever the names of files are."""
    line = " ".join(message.split())
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in line)
