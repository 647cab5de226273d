"""The command ``train``: files to a tokenizer."""

from __future__ import annotations

import argparse
import errno
import glob
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from crayon_hf.cli.arguments import UsageError, add_command, number
from crayon_hf.cli.tokenizers import open_named
from crayon_hf.errors import CorpusError, CrayonError
from crayon_hf.text_readers.addresses import find_inputs
from crayon_hf.text_readers.documents import FORMATS

_BPE_ALONE = ("limit_alphabet", "max_token_length", "pattern", "regex", "threads", "no_byte_alphabet")
_OPTIONS = ("vocab_size", "min_frequency", "limit_alphabet", "max_token_length", "threads")


def add_train(subparsers: Any) -> None:
    """What ``train`` takes."""
    command = add_command(
        subparsers,
        "train",
        train,
        "train a tokenizer from files",
        "Trains a tokenizer and writes a tokenizer.json and its cartridge.\n\n"
        "It reads the lines of text files, each with its ending, and a column of .jsonl, .csv, .tsv, .parquet and "
        ".arrow files. It unpacks .gz, .bz2, .xz and .zst.\n\n"
        "crayon-hf trains BPE itself, with the same merges as the BpeTrainer of tokenizers; tokenizers trains the "
        "other models.",
        (
            ("crayon-hf train book.txt -o my-model/ --vocab-size 1k", "a file"),
            ("crayon-hf train data/ -o my-model/ --special-token '<|endoftext|>'", "a directory"),
            ("crayon-hf train book.txt -o small.json --model wordpiece", "another model, one file"),
        ),
    )
    command.add_argument(
        "file", nargs="+", metavar="FILE", help='a file, a directory, a pattern ("**/*.txt"), or "-" alone'
    )
    command.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="OUT",
        help="a directory, or OUT.json or OUT.dat for these two files alone",
    )
    command.add_argument(
        "--model",
        choices=("bpe", "unigram", "wordpiece", "wordlevel"),
        default="bpe",
        help="default: bpe, over bytes",
    )
    command.add_argument("--vocab-size", type=number, metavar="N", help="ids in all: 32000, 32k (default: 30k)")
    command.add_argument("--min-frequency", type=number, metavar="N", help="leave out pairs or words that are rarer")
    command.add_argument(
        "--special-token", action="append", metavar="TOKEN", help="a token that text never becomes; may be repeated"
    )
    command.add_argument("--limit-alphabet", type=number, metavar="N", help="take only the N most frequent characters")
    command.add_argument("--max-token-length", type=number, metavar="N", help="the most characters of a token")
    command.add_argument(
        "--no-byte-alphabet", action="store_true", help="take only bytes that occur: some texts cannot be encoded then"
    )
    how = command.add_mutually_exclusive_group()
    how.add_argument("--pattern", metavar="NAME", help="the published pattern that cuts text (default: llama3)")
    how.add_argument("--regex", metavar="REGEX", help="a pattern of your own instead")
    how.add_argument(
        "-t",
        "--tokenizer",
        metavar="NAME_OR_PATH",
        help="instead of a pattern: take components and special tokens from this tokenizer",
    )
    read = command.add_argument_group("what is read")
    read.add_argument("--column", default="text", metavar="NAME", help="where the text is (default: %(default)s)")
    read.add_argument("--format", choices=FORMATS, help="of all files (default: what their names say)")
    command.add_argument("--threads", type=number, metavar="N", help="so many threads (default: one for each core)")
    command.add_argument("--progress", action="store_true", help="report progress, even without a terminal")


def train(arguments: argparse.Namespace) -> int:
    """Train a tokenizer, write it, and say what it is."""

    source = _source(arguments.file, arguments.format, arguments.output)
    values: dict[str, Any] = {name: value for name in _OPTIONS if (value := getattr(arguments, name)) is not None}
    if arguments.special_token:
        values["special_tokens"] = arguments.special_token
    if arguments.tokenizer is not None:
        values["tokenizer"] = open_named(arguments.tokenizer)
    values |= {"column": arguments.column, "format": arguments.format, "output": arguments.output}
    if arguments.progress:
        from crayon_hf.training_data.progress import Bar

        values["show_progress"] = Bar()
    try:
        run = _bpe(source, arguments, values) if arguments.model == "bpe" else _other(source, arguments, values)
    except TypeError as error:  # an option that the trainer does not take, or no text for one that it does
        raise UsageError(str(error)) from error
    if run.is_empty:
        what = "standard input has" if arguments.file == ["-"] else "the files have"
        print(f"crayon-hf: warning: the corpus is empty: {what} no text, and nothing was learnt", file=sys.stderr)
    for line in _summary(run):
        sys.stdout.buffer.write(os.fsencode(line) + b"\n")
    return 0


def _bpe(source: Any, arguments: argparse.Namespace, values: dict[str, Any]) -> Any:
    from crayon_hf.training.native import BpeTraining, run_bpe

    if arguments.regex is not None:
        from crayon_hf import Regex

        try:
            values["pattern"] = Regex(arguments.regex)
        except Exception as error:  # the library raises Exception itself
            raise CrayonError(f"--regex is not a regular expression: {error}") from error
    elif arguments.pattern is not None:
        values["pattern"] = arguments.pattern
    if arguments.no_byte_alphabet:
        values["initial_alphabet"] = ()
    return run_bpe(BpeTraining(source, **values))


def _other(source: Any, arguments: argparse.Namespace, values: dict[str, Any]) -> Any:
    from crayon_hf.training.by_reference import run_by_reference

    given = [f"--{name.replace('_', '-')}" for name in _BPE_ALONE if getattr(arguments, name) not in (None, False)]
    if given:
        raise UsageError(f"{', '.join(given)}: only for --model bpe")
    kind = {"unigram": "Unigram", "wordpiece": "WordPiece", "wordlevel": "WordLevel"}[arguments.model]
    return run_by_reference(kind, source, **values)


def _source(names: list[str], format: str | None, output: str) -> Any:
    if names == ["-"]:
        return sys.stdin.buffer
    if "-" in names:
        raise UsageError("standard input (-) and files cannot be combined")
    return [Path(name) for name in _found(names, format, output)]


def _found(names: Iterable[str], format: str | None, output: str) -> Iterable[str]:
    """The names, and what directories and patterns stand for, in order. What an earlier run wrote is no text."""
    written = os.path.join(os.path.realpath(output), "")
    for name in names:
        if os.path.isdir(name):
            files = [file.address for file in find_inputs([name], format)]
            kept = [file for file in files if not os.path.realpath(file).startswith(written)]
            if not kept:
                raise CorpusError(f"{name}: has no files except those of the output, {output}")
            yield from kept
            continue
        if os.path.lexists(name) or not glob.has_magic(name):
            yield name
            continue
        found = sorted(filter(os.path.isfile, glob.glob(name, recursive=True)))
        if not found:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
        yield from found


def _summary(run: Any) -> Iterable[str]:
    yield f"wrote {' and '.join(run.files)}: {run.tokenizer.get_vocab_size()} tokens"
    if run.trained is None:
        yield f"time: {run.seconds:.1f} s (trained by the tokenizers library)"
        return
    trained = run.trained
    yield f"merges: {len(trained.model['merges'])}"
    yield f"words: {trained.words}, {trained.unique_words} of them different"
    speed = (
        f", {trained.bytes / 1e6:.1f} MB of text, {trained.bytes / 1e6 / run.seconds:.1f} MB/s" if trained.bytes else ""
    )
    yield f"time: {run.seconds:.1f} s{speed}"
