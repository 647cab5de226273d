"""The command ``train``: train a tokenizer on files."""

from __future__ import annotations

import errno
import glob
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from click import Choice

from crayon_hf.cli.arguments import NUMBER, Arguments, UsageError, argument, command, complete_names, option, together
from crayon_hf.cli.inputs import standard_input
from crayon_hf.cli.output import print_line, say
from crayon_hf.cli.tokenizers import open_named
from crayon_hf.errors import CorpusError, CrayonError
from crayon_hf.text_readers.addresses import find_inputs
from crayon_hf.text_readers.documents import FORMATS
from crayon_hf.util.wording import joined, plural

_BPE_ALONE = ("limit_alphabet", "max_token_length", "pattern", "regex", "threads", "no_byte_alphabet")
_OPTIONS = ("vocab_size", "min_frequency", "limit_alphabet", "max_token_length", "threads")


READING = together(
    option("--column", default="text", metavar="NAME", show_default=True, help="the column with the text"),
    option("--format", type=Choice(FORMATS), help="the format of all files (default: by their suffixes)"),
    option("--threads", type=NUMBER, help="threads (default: one for each core)"),
    option("--progress", is_flag=True, help="report progress, even without a terminal"),
)
"""Options for reading files of training text."""


@command(
    "train",
    alternatives=("pattern", "regex", "tokenizer"),
    examples=(
        ("crayon-hf train book.txt -o my-model/ --vocab-size 1k", "a file"),
        ("crayon-hf train data/ -o my-model/ --special-token '<|endoftext|>'", "a directory"),
        ("crayon-hf train book.txt -o small.json --model wordpiece", "another model, one file"),
    ),
)
@argument("file", nargs=-1, required=True, help='a file, a directory, a pattern ("**/*.txt"), or "-" alone')
@option(
    *("-o", "--output"),
    required=True,
    metavar="OUT",
    help="a directory, or OUT.json or OUT.dat for only these two files",
)
@option("--overwrite", is_flag=True, help="replace all files of the tokenizer in OUT")
@option(
    "--model",
    type=Choice(("bpe", "unigram", "wordpiece", "wordlevel")),
    default="bpe",
    help="default: bpe, over bytes",
)
@option("--vocab-size", type=NUMBER, help="size of the vocabulary: 32000, 32k (default: 30k)")
@option("--min-frequency", type=NUMBER, help="ignore pairs or words that are rarer")
@option(
    "--special-token", multiple=True, metavar="TOKEN", help="a special token, not learned from text; may be repeated"
)
@option("--limit-alphabet", type=NUMBER, help="keep only the N most frequent characters")
@option("--max-token-length", type=NUMBER, help="merges make tokens of fewer characters")
@option("--no-byte-alphabet", is_flag=True, help="omit bytes that do not occur: some texts cannot be encoded then")
@option("--pattern", metavar="NAME", help="the published pre-tokenizer pattern (default: llama3)")
@option("--regex", metavar="REGEX", help="a pattern of your own instead")
@option(
    *("-t", "--tokenizer"),
    metavar="NAME_OR_PATH",
    shell_complete=complete_names,
    help="use the components and special tokens of this tokenizer instead of a pattern",
)
@READING
def train(arguments: Arguments) -> int:
    """Trains a tokenizer and writes a tokenizer.json and its cartridge.

    It reads the lines of text files, with their line ends, and a column of .jsonl, .csv, .tsv, .parquet and .arrow
    files. It unpacks .gz, .bz2, .xz and .zst.

    crayon-hf trains BPE itself, with the same merges as the BpeTrainer of tokenizers; tokenizers trains the other
    models.
    """
    source = corpus_source(arguments.file, arguments.format, arguments.output)
    values: dict[str, Any] = {name: value for name in _OPTIONS if (value := getattr(arguments, name)) is not None}
    if arguments.special_token:
        values["special_tokens"] = list(arguments.special_token)
    if arguments.tokenizer is not None:
        values["tokenizer"] = open_named(arguments.tokenizer)
    values |= {"column": arguments.column, "format": arguments.format}
    values |= {"output": arguments.output, "overwrite": arguments.overwrite}
    values |= shown_progress(arguments)
    try:
        run = _bpe(source, arguments, values) if arguments.model == "bpe" else _other(source, arguments, values)
    except TypeError as error:  # an option that the trainer does not support, or an invalid value
        raise UsageError(str(error)) from error
    if run.is_empty:
        what = "standard input has" if arguments.file == ("-",) else "the files have"
        say(f"warning: the corpus is empty: {what} no text, and nothing was learnt")
    for line in _summary(run):
        print_line(line)
    return 0


def _bpe(source: Any, arguments: Arguments, values: dict[str, Any]) -> Any:
    from crayon_hf.training.native import run_bpe

    if arguments.regex is not None:
        from crayon_hf import Regex

        try:
            values["pattern"] = Regex(arguments.regex)
        except Exception as error:  # the library raises plain Exception
            raise CrayonError(f"--regex is not a regular expression: {error}") from error
    elif arguments.pattern is not None:
        values["pattern"] = arguments.pattern
    if arguments.no_byte_alphabet:
        values["initial_alphabet"] = ()
    return run_bpe(source, **values)


def _other(source: Any, arguments: Arguments, values: dict[str, Any]) -> Any:
    from crayon_hf.training.by_reference import run_by_reference

    given = [f"--{name.replace('_', '-')}" for name in _BPE_ALONE if getattr(arguments, name) not in (None, False)]
    if given:
        raise UsageError(f"{', '.join(given)}: only for --model bpe")
    kind = {"unigram": "Unigram", "wordpiece": "WordPiece", "wordlevel": "WordLevel"}[arguments.model]
    return run_by_reference(kind, source, **values)


def shown_progress(arguments: Arguments) -> dict[str, Any]:
    """Return the keyword argument that ``--progress`` adds to the call of a trainer."""
    from crayon_hf.util.progress import Bar

    return {"show_progress": Bar()} if arguments.progress else {}


def corpus_source(names: Sequence[str], format: str | None, output: str) -> Any:
    """Return the files from which a command learns, or standard input."""
    if names == ("-",):
        return standard_input()
    if "-" in names:
        raise UsageError("standard input (-) and files cannot be combined")
    return [Path(name) for name in _found(names, format, output)]


def _found(names: Iterable[str], format: str | None, output: str) -> Iterable[str]:
    """Expand directories and patterns, in order. Skip files in a directory that are below `output`."""
    written = os.path.join(os.path.realpath(output), "")
    for name in names:
        if os.path.isdir(name):
            files = [file.address for file in find_inputs([name], format)]
            kept = [file for file in files if not os.path.realpath(file).startswith(written)]
            if not kept:
                raise CorpusError(f"{name} has no files except those of the output, {output}")
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
    yield f"wrote {joined(run.files)}: {plural(run.tokenizer.get_vocab_size(), 'token')}"
    if run.trained is None:
        yield f"time: {run.seconds:.1f} s (trained by the tokenizers library)"
        return
    trained = run.trained
    yield f"merges: {len(trained.model['merges']):,}"
    yield f"words: {trained.words:,}, {trained.unique_words:,} of them different"
    speed = (
        f", {trained.bytes / 1e6:.1f} MB of text, {trained.bytes / 1e6 / run.seconds:.1f} MB/s" if trained.bytes else ""
    )
    yield f"time: {run.seconds:.1f} s{speed}"
