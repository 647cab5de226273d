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


def tokenize(arguments: argparse.Namespace) -> int:
    """Tokenize a corpus, and say what came of it."""
    from crayon_hf.cli.arguments import UsageError
    from crayon_hf.corpora.job.corpus import tokenize_corpus
    from crayon_hf.corpora.job.progress import Bar
    from crayon_hf.errors import CrayonError
    from crayon_hf.reading.separators import unescaped

    bar = None if arguments.quiet else Bar()
    with _signals_as_interrupts():
        try:
            summary = tokenize_corpus(
                arguments.input,
                arguments.output,
                arguments.format,
                tokenizer=arguments.tokenizer,
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
    "threads|max_tokens_per_shard|max_document_bytes|batch_bytes|group_bytes"
)
_ARGUMENT = re.compile(rf"(?<![\w/.\\'\"-])({_ARGUMENTS})(?= (?:was|is|or|\())")


def _as_options(message: str) -> str:
    """A message with the names of options where it has those of arguments."""
    message = message.replace("with format='text'", "with --input-format text")
    return _ARGUMENT.sub(lambda match: f"--{match[1].replace('_', '-')}", message)


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
