"""The command ``tokenize``: files of text to files of token ids."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import signal
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any, NoReturn

from crayon_hf.cli.arguments import UsageError, add_command, add_tokenizer, number, size
from crayon_hf.cli.interrupts import ending_at_once
from crayon_hf.cli.tokenizers import local_name
from crayon_hf.text_readers.documents import FORMATS


def add_tokenize(subparsers: Any) -> None:
    """What ``tokenize`` takes."""
    command = add_command(
        subparsers,
        "tokenize",
        tokenize,
        "tokenize a corpus into token files",
        "Writes the token ids of files of text into a directory, in the format of a training tool.\n\n"
        "It reads text, JSON lines, CSV, TSV, Parquet and Arrow, compressed or not. If it is killed, run the same "
        "command again: it continues where it stopped, and the files come out the same.\n\n"
        "The exit status is 0 if all is done, 1 if something failed (a bad record, a file, the disk, a worker), 2 "
        "for wrong usage, and 128 plus the number of the signal that ended it.",
        (
            ("crayon-hf tokenize data/ -o tokens/ -t lite --eos '<|endoftext|>'", "a directory, for Megatron-LM"),
            ("crayon-hf tokenize table.csv -o reviews/ -t lite --column review --format npy", ""),
            ("crayon-hf tokenize book.txt -o lines/ -t my-model/ --separator '\\n' --format parquet", ""),
        ),
    )
    command.add_argument(
        "input", nargs="*", metavar="INPUT", help="a file, a directory, a pattern, an address of fsspec"
    )
    command.add_argument("--mix", metavar="FILE", help="mix the sources that a JSON file lists, instead of inputs")
    command.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="OUT",
        help="a directory or an address of fsspec: new, empty, or this job's",
    )
    add_tokenizer(command, has_default=False)
    command.add_argument(
        "--format",
        choices=("megatron", "datatrove", "npy", "bin", "parquet", "arrow", "mds"),
        default="megatron",
        help="the format of the files (default: %(default)s)",
    )
    read = command.add_argument_group("what is read")
    read.add_argument(
        "--input-format", choices=FORMATS, help="the format of the input (default: what the endings of names say)"
    )
    text = read.add_mutually_exclusive_group()
    text.add_argument("--column", default="text", metavar="C", help="the column with the text (default: %(default)s)")
    text.add_argument("--template", metavar="T", help="the text of several columns instead: '{title}\\n{text}'")
    read.add_argument(
        "--separator",
        metavar="S",
        help="what separates the documents of a text file: \\n, \\t, \\0 (default: a file is one document)",
    )
    written = command.add_argument_group("what is written")
    written.add_argument("--append-eos", action="store_true", help="put the end-of-text token after each document")
    written.add_argument(
        "--eos", metavar="TOKEN", help="append this token after each document, if the tokenizer names none"
    )
    written.add_argument(
        "--add-special-tokens", action="store_true", help="add the special tokens that the tokenizer puts around a text"
    )
    written.add_argument("--shuffle", action="store_true", help="shuffle the files, and the documents of each task")
    written.add_argument(
        "--seed", type=number, default=0, metavar="N", help="the seed of the shuffle (default: %(default)s)"
    )
    written.add_argument(
        "--max-tokens-per-shard", type=number, metavar="N", help="begin a new file before one has more tokens"
    )
    written.add_argument(
        "--deduplicate", action="store_true", help="leave out documents whose text was there before, in any file"
    )
    written.add_argument(
        "--held-out", type=float, metavar="SHARE", help="put this share of the documents, as 0.005, into OUT/held-out"
    )
    packed = command.add_argument_group("sequences of one length, for training")
    packed.add_argument(
        "--sequence-length", type=number, metavar="N", help="pack the documents into sequences of N tokens"
    )
    packed.add_argument(
        "--packing",
        choices=("concat", "best-fit"),
        help="one document after the other, cut (the default), or no document cut that fits into a sequence",
    )
    packed.add_argument(
        "--remainder",
        choices=("drop", "keep", "pad"),
        help="what becomes of shorter sequences (default: concat drops the last one of each task; best-fit keeps them, "
        "or pads them where readers count tokens)",
    )
    packed.add_argument(
        "--pad-token", metavar="TOKEN", help="what to pad with (default: the tokenizer's, or the end-of-text token)"
    )
    read.add_argument(
        "--bad-records",
        choices=("stop", "skip", "replace"),
        default="stop",
        help="end the job, or count and list bad records and go on (default: %(default)s)",
    )
    work = command.add_argument_group("how the work is done")
    work.add_argument(
        "--workers",
        type=number,
        metavar="N",
        help="processes (default: half the cores; all of them for compressed files)",
    )
    work.add_argument("--threads", type=number, metavar="N", help="threads of each worker (default: cores / workers)")
    work.add_argument(
        "--batch-bytes",
        type=size,
        default=16 << 20,
        metavar="SIZE",
        help="encode this much text at a time (default: 16M)",
    )
    read.add_argument(
        "--max-document-bytes",
        type=size,
        default=256 << 20,
        metavar="SIZE",
        help="a longer document is a bad record (default: 256M)",
    )
    work.add_argument(
        "--group-bytes",
        type=size,
        default=64 << 20,
        metavar="SIZE",
        help="put small files together into tasks of this size (default: 64M)",
    )
    command.add_argument("--json", action="store_true", help="print the summary as one JSON object")
    command.add_argument("--overwrite", action="store_true", help="start anew, and remove what another job wrote there")
    command.add_argument("--quiet", action="store_true", help="no progress and no summary")


def tokenize(arguments: argparse.Namespace) -> int:
    """Tokenize a corpus, and say what came of it."""
    with ending_at_once():
        import numpy  # noqa: F401  # a job needs it, and would import it where a signal is an exception

        from crayon_hf.corpora.job.corpus import tokenize_corpus
        from crayon_hf.corpora.job.mixture import read_mixture
        from crayon_hf.corpora.job.progress import Bar
        from crayon_hf.errors import CrayonError

    bar = None if arguments.quiet else Bar()
    with _signals_as_interrupts():
        try:
            if bool(arguments.input) == (arguments.mix is not None):
                raise ValueError("give inputs, or a mixture with --mix FILE, and not both")
            summary = tokenize_corpus(
                arguments.input if arguments.mix is None else read_mixture(arguments.mix),
                arguments.output,
                arguments.format,
                tokenizer=local_name(arguments.tokenizer),
                column=arguments.column,
                template=arguments.template,
                separator=None if arguments.separator is None else unescaped(arguments.separator),
                input_format=arguments.input_format,
                append_eos=arguments.append_eos,
                eos=arguments.eos,
                add_special_tokens=arguments.add_special_tokens,
                bad_records=arguments.bad_records,
                shuffle=arguments.shuffle,
                seed=arguments.seed,
                max_tokens_per_shard=arguments.max_tokens_per_shard,
                sequence_length=arguments.sequence_length,
                packing=arguments.packing,
                remainder=arguments.remainder,
                pad_token=arguments.pad_token,
                deduplicate=arguments.deduplicate,
                held_out=arguments.held_out,
                batch_bytes=arguments.batch_bytes,
                max_document_bytes=arguments.max_document_bytes,
                group_bytes=arguments.group_bytes,
                workers=arguments.workers,
                threads=arguments.threads,
                overwrite=arguments.overwrite,
                progress=bar,
            )
        except KeyboardInterrupt as interrupt:
            if bar is not None:
                bar.end()
            print("crayon-hf: interrupted; what is done stays, the same command goes on from there", file=sys.stderr)
            sys.stdout.flush()
            # A thread may be within the engine still, which aborts when Python takes itself down around it.
            os._exit(128 + getattr(interrupt, "signal", signal.SIGINT))
        except CrayonError as error:
            error.args = tuple(_as_options(part) if isinstance(part, str) else part for part in error.args)
            raise
        except (ValueError, OverflowError) as error:  # what no option takes
            raise UsageError(_as_options(str(error))) from error
        finally:
            if bar is not None:
                bar.end()
    if not summary.counts.documents:
        bad = summary.counts.bad_records
        why = f"all {bad:,} records were bad (bad-records.jsonl)" if bad else "the inputs have none"
        print(f"crayon-hf: warning: {arguments.output} has no document: {why}", file=sys.stderr)
    if arguments.json:
        _print([json.dumps(summary.as_json(), ensure_ascii=False)])
    elif not arguments.quiet:
        _print(summary.lines())
    return 0


_ARGUMENTS = (
    "input_format|column|template|separator|append_eos|eos|add_special_tokens|bad_records|shuffle|seed|format|workers|"
    "threads|max_tokens_per_shard|max_document_bytes|batch_bytes|group_bytes|sequence_length|packing|remainder|pad_token|held_out"
)
_ARGUMENT = re.compile(rf"(?<![\w/.\\'\"-])({_ARGUMENTS})(?= (?:was|is|or|\())")


def _as_options(message: str) -> str:
    """A message with the names of options where it has those of arguments."""
    message = message.replace("with format='text'", "with --input-format text")
    return _ARGUMENT.sub(lambda match: f"--{match[1].replace('_', '-')}", message)


# A separator as people write it on a command line: with escapes for what cannot be typed.
_CHARACTERS = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "v": "\v", "0": "\0", "\\": "\\"}
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[nrtfv\\]|0[0-9]?|.?)", re.DOTALL)


def unescaped(text: str) -> str:
    r"""What `text` means: ``\n``, ``\r``, ``\t``, ``\f``, ``\v``, ``\0``, ``\\``, ``\xHH``, ``\uHHHH``, ``\UHHHHHHHH``.

    ValueError for any other escape, for ``\x80`` and above, which may be meant as a byte or as a character, and for
    what is not a character of UTF-8.
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
    """To standard output; a name that is no UTF-8 has escapes, which JSON reads as what Python has for it."""
    try:
        sys.stdout.buffer.writelines(f"{line}\n".encode("utf-8", "backslashreplace") for line in lines)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python complains again at exit
        raise OSError(error.errno, f"{error.strerror}; the job is done", "standard output") from error


class _Signalled(KeyboardInterrupt):
    def __init__(self, number: int) -> None:
        super().__init__()
        self.signal = number


@contextlib.contextmanager
def _signals_as_interrupts() -> Iterator[None]:
    """SIGTERM and SIGHUP end a job as cleanly as Ctrl-C does; a second one ends the process at once.

    Threads may be within the engine then, and cannot be while Python takes itself down: so it does not.
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
