"""``crayon-hf compare``: compares tokenizers on the user's own texts."""

from __future__ import annotations

import os
import shlex

from click import Choice

from crayon_hf.cli.arguments import (
    JSON,
    NAMED,
    Arguments,
    UsageError,
    argument,
    command,
    complete_names,
    option,
)
from crayon_hf.cli.counting import listed
from crayon_hf.cli.inputs import note
from crayon_hf.cli.output import print_line
from crayon_hf.cli.tokenizers import local_name
from crayon_hf.errors import ProfileNotFoundError, VocabularyError
from crayon_hf.formats.names import NameKind, meaning_of, unknown_name
from crayon_hf.formats.recognise import Kind, look_into, recognise
from crayon_hf.text_readers.documents import FORMATS
from crayon_hf.util.progress import FilesBar


@command(
    "compare",
    examples=(
        ("crayon-hf compare lite standard book.txt", "two tokenizers on a file"),
        ("crayon-hf compare lite my-model/ data/ --html compare.html", "also a page with charts"),
        ("crayon-hf compare -t lite -t my-model/ book.txt poem.txt", "tokenizers and files told apart by -t"),
        ("crayon-hf compare lite standard table.csv --column review", "the texts of a column"),
        ("crayon-hf compare lite standard book.txt --json", "all figures as JSON"),
    ),
)
@argument("word", metavar="WORD...", nargs=-1, shell_complete=complete_names, help="tokenizers, files and directories")
@option("-t", "--tokenizer", multiple=True, metavar="NAME_OR_PATH", shell_complete=complete_names, help=NAMED)
@option("-f", "--file", multiple=True, metavar="FILE...", help="files, directories, patterns, addresses of fsspec")
@option("--column", metavar="C", help="the column with the text (default: text)")
@option("--input-format", type=Choice(FORMATS), help="the format of all files (default: by the suffixes of names)")
@option("--no-ignore", is_flag=True, help="in directories, also read files that .gitignore names")
@JSON
@option("--html", metavar="FILE", help="also write a page with charts, which needs no network")
def compare(arguments: Arguments) -> int:
    """Compares how tokenizers split texts: bytes and characters per token, tokens per word, and more.

    A WORD that names a file or a directory is input, unless that is a vocabulary. All other words are tokenizers.
    With -t all words are input, and with -f all words are tokenizers.

    The figures are for all text, by file, by Unicode script, and by kind of text: prose, code, data and markup. The
    name of a file decides its kind. Words are split at white space. JSON lines, Parquet and Arrow are read by column;
    CSV, TSV and JSON only with --column. Compressed files are decompressed. In directories, hidden files, binary files
    and files that git would ignore are skipped.
    """
    from crayon_hf.comparison import compare as compare_texts
    from crayon_hf.comparison.html import to_html
    from crayon_hf.tokenizer.resolve import open_tokenizer
    from crayon_hf.util.extras import need
    from crayon_hf.util.files import write_atomic

    names, files = _told_apart(arguments)
    if arguments.html:
        if not os.path.isdir(os.path.dirname(arguments.html) or "."):
            raise UsageError(f"--html {arguments.html}: {os.path.dirname(arguments.html)} is not a directory")
        need("a page", "report", "jinja2")
    bar = FilesBar(())
    try:
        found = compare_texts(
            {name: open_tokenizer(local_name(name)) for name in names},
            files,
            column=arguments.column,
            format=arguments.input_format,
            ignore=not arguments.no_ignore,
            progress=bar,
        )
    finally:
        bar.end()
    if found.passed_over:
        note(f"passed over {listed(found.passed_over)}")
    if arguments.html:
        write_atomic(arguments.html, to_html(found, _command(arguments, names, files)).encode())
    for line in found.to_json().rstrip("\n").split("\n") if arguments.json else found.lines():
        print_line(line)
    return 0


def _told_apart(arguments: Arguments) -> tuple[list[str], list[str]]:
    """Separate the arguments into tokenizers and inputs."""
    names, files = list(arguments.tokenizer), list(arguments.file)
    if "-" in arguments.word:
        raise UsageError("standard input (-) is not read: give files")
    for word in arguments.word:
        if arguments.tokenizer:
            files.append(word)
        elif arguments.file or not _is_input(word):
            if not arguments.file and meaning_of(word).kind is NameKind.UNKNOWN and not os.path.exists(word):
                raise ProfileNotFoundError(f"no file {word!r} here, and {unknown_name(word)}")
            names.append(word)
        else:
            files.append(word)
            if "." not in word and "/" not in word and os.sep not in word:
                kind = "directory" if os.path.isdir(word) else "file"
                note(f"{word!r} is read as the {kind} of that name (-t {word} takes it as a tokenizer)")
    if not names:
        raise UsageError("no tokenizer is named: give names or paths before the files, or -t")
    if not files:
        raise UsageError("no text is named: give files or directories, or -f")
    if twice := next((name for place, name in enumerate(names) if name in names[:place]), None):
        raise UsageError(f"the tokenizer {twice!r} is named twice")
    return names, files


def _is_input(word: str) -> bool:
    """Whether the word names a file or a directory that is not a vocabulary."""
    if not os.path.exists(word):
        return False
    try:
        if recognise(word) is Kind.DIRECTORY:
            look_into(word)
    except VocabularyError:
        return True
    return False


def _command(arguments: Arguments, names: list[str], files: list[str]) -> str:
    """Return a command line that makes the page again."""
    words = [*(part for name in names for part in ("-t", name)), *(part for file in files for part in ("-f", file))]
    settings = (("--column", arguments.column), ("--input-format", arguments.input_format), ("--html", arguments.html))
    words += [part for name, value in settings if value is not None for part in (name, value)]
    return shlex.join(["crayon-hf", "compare", *words, *["--no-ignore"] * arguments.no_ignore])
