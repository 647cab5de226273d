"""The command ``tokenize``: tokenize text files into files of token ids."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any, NoReturn

from click import Choice

from crayon_hf.cli.arguments import (
    NAMED,
    NUMBER,
    SIZE,
    Arguments,
    UsageError,
    argument,
    command,
    complete_names,
    option,
)
from crayon_hf.cli.interrupts import ending_at_once
from crayon_hf.cli.output import say
from crayon_hf.cli.tokenizers import local_name
from crayon_hf.text_readers.documents import FORMATS

_OURS = ("input", "mix", "output", "format", "tokenizer", "json", "quiet")
"""Arguments of the command that are not keyword arguments of `tokenize_corpus`."""


@command(
    "tokenize",
    alternatives=("column", "template"),
    examples=(
        ("crayon-hf tokenize data/ -o tokens/ -t lite --eos '<|endoftext|>'", "a directory, for Megatron-LM"),
        ("crayon-hf tokenize table.csv -o reviews/ -t lite --column review --format npy", ""),
        ("crayon-hf tokenize book.txt -o lines/ -t my-model/ --separator '\\n' --format parquet", ""),
    ),
)
@argument("input", nargs=-1, help="a file, a directory, a pattern, or an fsspec address")
@option("--mix", metavar="FILE", help="mix the sources that a JSON file lists, instead of inputs")
@option(
    *("-o", "--output"),
    required=True,
    metavar="OUT",
    help="a directory or an fsspec address: new, empty, or this job's",
)
@option("-t", "--tokenizer", required=True, metavar="NAME_OR_PATH", shell_complete=complete_names, help=NAMED)
@option(
    "--format",
    type=Choice(("megatron", "datatrove", "npy", "bin", "parquet", "arrow", "mds")),
    default="megatron",
    show_default=True,
    help="the format of the files",
)
@option("--input-format", type=Choice(FORMATS), help="the format of the input (default: by the suffix of each file)")
@option("--column", default="text", show_default=True, metavar="C", help="the column with the text")
@option("--template", metavar="T", help="the text of several columns instead: '{title}\\n{text}'")
@option(
    "--separator",
    metavar="S",
    help=r"what separates the documents of a text file: \n, \t, \0 (default: a file is one document)",
)
@option(
    "--bad-records",
    type=Choice(("stop", "skip", "replace")),
    default="stop",
    show_default=True,
    help="end the job, or list bad records and continue",
)
@option("--max-document-bytes", type=SIZE, default=256 << 20, help="a longer document is a bad record (default: 256M)")
@option("--append-eos", is_flag=True, help="put the end-of-text token after each document")
@option("--eos", metavar="TOKEN", help="append this token after each document, if the tokenizer names none")
@option("--add-special-tokens", is_flag=True, help="add the special tokens that the tokenizer puts around a text")
@option("--shuffle", is_flag=True, help="shuffle the files, and the documents of each task")
@option("--seed", type=NUMBER, default=0, show_default=True, help="the seed of the shuffle")
@option("--max-tokens-per-shard", type=NUMBER, help="begin a new file before one has more tokens")
@option("--deduplicate", is_flag=True, help="leave out documents whose text an earlier one has")
@option(
    "--held-out", type=float, metavar="SHARE", help="put this share of the documents, such as 0.005, into OUT/held-out"
)
@option("--sequence-length", type=NUMBER, help="pack the documents into sequences of N tokens")
@option(
    "--packing",
    type=Choice(("concat", "best-fit")),
    help="join documents and cut (concat, the default), or cut no document that fits into a sequence",
)
@option(
    "--remainder",
    type=Choice(("drop", "keep", "pad")),
    help="how to treat shorter sequences (default: concat drops the last one of each task; best-fit keeps them, or "
    "pads them if the format needs one length)",
)
@option("--pad-token", metavar="TOKEN", help="the padding token (default: the tokenizer's, or the end-of-text token)")
@option("--workers", type=NUMBER, help="processes (default: half the cores; all of them for compressed files)")
@option("--threads", type=NUMBER, help="threads of each worker (default: cores / workers)")
@option("--batch-bytes", type=SIZE, default=16 << 20, help="encode this much text at a time (default: 16M)")
@option(
    "--group-bytes", type=SIZE, default=64 << 20, help="put small files together into tasks of this size (default: 64M)"
)
@option("--json", is_flag=True, help="print the summary as one JSON object")
@option("--overwrite", is_flag=True, help="start anew, and remove the files of an earlier job")
@option("--quiet", is_flag=True, help="no progress and no summary")
def tokenize(arguments: Arguments) -> int:
    """Writes the token ids of text files into a directory, in the format of a training tool.

    It reads text, JSON lines, CSV, TSV, Parquet and Arrow, compressed or not. If it is killed, run the same command
    again: it continues where it stopped, and writes the same files.

    Exit status: 0 if the job is finished, 1 after an error (a bad record, a file, the disk, a worker), 2 for wrong
    usage. If a signal ended it, 128 plus its number.
    """
    with ending_at_once():
        import numpy  # noqa: F401  # imported here, where Ctrl-C ends the process

        from crayon_hf.corpora.job.corpus import tokenize_corpus
        from crayon_hf.corpora.job.failures import TO_CONTINUE
        from crayon_hf.corpora.job.mixture import read_mixture
        from crayon_hf.corpora.job.progress import Bar
        from crayon_hf.errors import CrayonError

    bar = None if arguments.quiet else Bar()
    with _signals_as_interrupts():
        try:
            if bool(arguments.input) == (arguments.mix is not None):
                raise ValueError("give inputs, or a mixture with --mix FILE, and not both")
            given = {name: value for name, value in vars(arguments).items() if name not in _OURS}
            if arguments.separator is not None:
                given["separator"] = unescaped(arguments.separator)
            summary = tokenize_corpus(
                list(arguments.input) if arguments.mix is None else read_mixture(arguments.mix),
                arguments.output,
                arguments.format,
                tokenizer=local_name(arguments.tokenizer),
                progress=bar,
                **given,
            )
        except KeyboardInterrupt as interrupt:
            if bar is not None:
                bar.end()
            say(f"interrupted; {_again(TO_CONTINUE, arguments)}")
            sys.stdout.flush()
            # A thread may still run in the engine, which would abort while Python shuts down.
            os._exit(128 + getattr(interrupt, "signal", signal.SIGINT))
        except CrayonError as error:
            error.args = tuple(_again(part, arguments) if isinstance(part, str) else part for part in error.args)
            raise
        except (ValueError, OverflowError) as error:  # an invalid value of an option
            raise UsageError(str(error)) from error
        finally:
            if bar is not None:
                bar.end()
    if not summary.counts.documents:
        bad = summary.counts.bad_records
        why = f"all {bad:,} records were bad (bad-records.jsonl)" if bad else "the inputs have none"
        say(f"warning: {arguments.output} has no document: {why}")
    if arguments.json:
        _print([json.dumps(summary.as_json(), ensure_ascii=False)])
    elif not arguments.quiet:
        _print(summary.lines())
    return 0


def _again(message: str, arguments: Arguments) -> str:
    """Adapt the advice to run the command again: with ``--overwrite`` the job would begin anew."""
    return message.replace("run it again", "run it again without --overwrite") if arguments.overwrite else message


# Escapes in a separator, for characters that are hard to type.
_CHARACTERS = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "v": "\v", "0": "\0", "\\": "\\"}
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[nrtfv\\]|0[0-9]?|.?)", re.DOTALL)


def unescaped(text: str) -> str:
    r"""Replace escapes: ``\n``, ``\r``, ``\t``, ``\f``, ``\v``, ``\0``, ``\\``, ``\xHH``, ``\uHHHH``, ``\UHHHHHHHH``.

    Raises:
        ValueError: Another escape, a surrogate, or ``\x80`` and above, which may mean a byte or a character.
    """
    return _ESCAPE.sub(lambda match: _character(match[1]), text)


def _character(escape: str) -> str:
    if escape in _CHARACTERS:
        return _CHARACTERS[escape]
    if len(escape) < 3:
        raise ValueError(
            rf"separator: \{escape} is not an escape; use one of \n \r \t \f \v \0 \\ \xHH \uHHHH \UHHHHHHHH "
            r"(\\ is one backslash)"
        )
    code = int(escape[1:], 16)
    if escape[0] == "x" and code >= 0x80:
        raise ValueError(rf"separator: \{escape} is not ASCII; for the character write \u{code:04x}")
    if code > 0x10FFFF or 0xD800 <= code < 0xE000:
        raise ValueError(rf"separator: \{escape} is not a character of UTF-8")
    return chr(code)


def _print(lines: list[str]) -> None:
    """Print lines to standard output. File names that are not UTF-8 get escapes, which JSON readers restore."""
    try:
        sys.stdout.buffer.writelines(f"{line}\n".encode("utf-8", "backslashreplace") for line in lines)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # prevents a second error at exit
        raise OSError(error.errno, f"{error.strerror}; the job is done", "standard output") from error


class _Signalled(KeyboardInterrupt):
    def __init__(self, number: int) -> None:
        super().__init__()
        self.signal = number


@contextlib.contextmanager
def _signals_as_interrupts() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end a job as cleanly as Ctrl-C. A second signal ends the process at once.

    The process then ends with `os._exit`, because threads in the engine must not run while Python shuts down.
    """

    def at_once(number: int, frame: FrameType | None) -> NoReturn:
        os._exit(128 + number)

    def interrupt(number: int, frame: FrameType | None) -> None:
        for known in before:
            signal.signal(known, at_once)
        raise _Signalled(number)

    before: dict[int, Any] = {}
    try:
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            with contextlib.suppress(ValueError):  # not in the main thread
                if number is not None and signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                    before[number] = signal.signal(number, interrupt)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
