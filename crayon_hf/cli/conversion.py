"""The command ``convert``: any source of a vocabulary to any output format."""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from click import Choice

from crayon_hf.cli.arguments import Arguments, Parsed, argument, command, complete_names, option
from crayon_hf.cli.output import print_line
from crayon_hf.cli.tokenizers import local_name
from crayon_hf.errors import CartridgeError, CrayonError, UnsupportedError, VocabularyError
from crayon_hf.formats.names import NameKind, resolve
from crayon_hf.util.progress import Bar, is_watched
from crayon_hf.util.wording import joined, plural

if TYPE_CHECKING:
    from crayon_hf.formats.converted import Converted

FORMS = {
    "tokenizer.json": ".json",
    "tiktoken": ".tiktoken",
    "sentencepiece": ".model",
    "gguf": ".gguf",
    "v2": ".dat",
}
"""The values of ``--to``, and the suffixes of such files."""

_GENERIC = ("tokenizer", "tekken", "vocab", "merges", "spiece", "sentencepiece.bpe")
"""The output of a file with one of these names is named after its directory."""


def special_token(text: str) -> tuple[str, int]:
    """Parse TOKEN=ID as a pair. Raises ValueError for other text."""
    token, separator, id = text.rpartition("=")
    if not separator or not token or not id.isdecimal():
        raise ValueError(f"{text!r} is not TOKEN=ID")
    return token, int(id)


@command(
    "convert",
    examples=(
        ("crayon-hf convert lite -o my-model/", "a directory for transformers"),
        ("crayon-hf convert tokenizer.json -o small.dat", "a cartridge and its small.json"),
        ("crayon-hf convert tokenizer.json --to tiktoken -o small.tiktoken", "a rank file"),
        ("crayon-hf convert tokenizer.json --to gguf -o small.gguf", "a vocabulary for llama.cpp"),
    ),
)
@argument(
    "source",
    shell_complete=complete_names,
    help="a file, a directory, or the name of a profile, an encoding or a repository",
)
@option(
    *("-o", "--output"),
    metavar="OUT",
    help="a directory, or a file by its suffix: .dat (the cartridge, with its .json), .json (tokenizer.json alone), "
    ".tiktoken (ranks), .model (SentencePiece) or .gguf (llama.cpp). Default: a directory here, named after the source",
)
@option("--overwrite", is_flag=True, help="replace another tokenizer in OUT, all its files")
@option(
    "--to",
    type=Choice(tuple(FORMS)),
    help="one file of this form instead; v2 is CRAYON's own .dat, with the .json of its strings",
)
@option(
    "--inexact",
    is_flag=True,
    help="for sentencepiece and gguf: write the file even if it gives other ids in known cases, and print these",
)
@option("--progress", is_flag=True, help="report progress, even without a terminal")
@option("--pattern", help="for a tiktoken rank file: the pattern that splits text")
@option("--name", help="for a rank file: the encoding whose pattern and special tokens are used")
@option(
    "--special",
    multiple=True,
    type=Parsed("token=id", special_token),
    help="for a rank file: a special token and its id; may be repeated",
)
def convert(arguments: Arguments) -> int:
    """Makes a directory that transformers opens: tokenizer.json, tokenizer_config.json and the cartridge tokenizer.dat.

    The source is a Hugging Face directory or a file: tokenizer.json, vocab.json with merges.txt, vocab.txt,
    tekken.json, a SentencePiece model, GGUF, tiktoken ranks, or a cartridge of crayon-hf or CRAYON. Its content tells
    which. Or it is the name of a profile, of a tiktoken encoding, or of a Hub repository (user/name).
    """
    from crayon_hf.formats import convert as convert_source

    meaning, form = resolve(arguments.source), arguments.to
    source = local_name(meaning.path or arguments.source)
    place = meaning.name if meaning.kind is NameKind.ENCODING else source
    if meaning.kind not in (NameKind.PATH, NameKind.UNKNOWN) and not arguments.output:
        arguments.output = meaning.name.rpartition("/")[2].partition("@")[0] + (FORMS[form] if form else "")
    output = Path(arguments.output) if arguments.output else _default_output(place, form)
    write = _writer(output, form, arguments.output or "", _Place(place, arguments.overwrite, arguments.inexact))
    given = {"pattern": arguments.pattern, "name": arguments.name, "special_tokens": dict(arguments.special)}
    options = {key: value for key, value in given.items() if value}
    progress = Bar(leave=False) if arguments.progress or is_watched(sys.stderr) else None
    try:
        lines = write(convert_source(source, progress=progress, **options))
    except (CartridgeError, VocabularyError) as error:
        raise error if source in str(error) else type(error)(f"{source}: {error}") from error
    finally:
        if progress is not None:
            progress.end()
    for line in lines:
        print_line(line)
    return 0


def _default_output(source: str, form: str | None) -> Path:
    """Return an output in the current directory, named after the source."""
    path = Path(source)
    if not path.is_file():
        name = path.absolute().name  # a directory, or the name of an encoding
    elif path.name.partition(".")[0] in _GENERIC:
        name = path.absolute().parent.name
    else:
        name = path.stem
    output = Path(name + FORMS[form] if form else name)
    taken = path if form or path.is_dir() else path.parent
    if output.exists() and ((taken.exists() and output.samefile(taken)) or (output.is_file() and not form)):
        raise CrayonError(
            f"{source}: the output would be called {str(output)!r}, like the source: give -o another name"
        )
    return output


def _writer(output: Path, form: str | None, given: str, place: _Place) -> Callable[[Converted], list[str]]:
    suffix = output.suffix
    if form is not None:
        if output.is_dir():
            output = output / (
                "tokenizer.json" if form == "tokenizer.json" else _default_output(place.source, form).name
            )
        elif suffix != FORMS[form]:
            raise CrayonError(f"{output}: the name of the output of --to {form} must end in {FORMS[form]}")
        return _of_form(_version_2 if form == "v2" else _WRITERS[FORMS[form]], output, place)
    if given.endswith(("/", os.sep)) or output.is_dir():
        return _of_form(_directory, output, place)
    if suffix in _WRITERS:
        return _of_form(_WRITERS[suffix], output, place)
    if given and re.fullmatch(r"\.[A-Za-z]\w*", suffix):
        raise CrayonError(
            f"{output}: the name of the output must end in .dat, .json (the tokenizer.json alone), .tiktoken, .model "
            "or .gguf, or in / for a directory"
        )
    return _of_form(_directory, output, place)


def _of_form(writer: _Writer, output: Path, place: _Place) -> Callable[[Converted], list[str]]:
    if place.inexact and writer not in (_model, _gguf):
        raise CrayonError("--inexact is for --to sentencepiece and --to gguf")
    return lambda converted: writer(converted, output, place)


@dataclass(frozen=True)
class _Place:
    """The source, and whether its output may replace another tokenizer or give other ids."""

    source: str
    overwrite: bool
    inexact: bool = False


_Writer = Callable[["Converted", Path, _Place], list[str]]


# -- writers: each writes the output and returns the lines to print


def _directory(converted: Converted, output: Path, place: _Place) -> list[str]:
    from crayon_hf.formats import write as write_directory
    from crayon_hf.formats.repository import overwriting

    overwrite = overwriting(converted, [place.source], str(output), place.overwrite)
    try:
        paths = write_directory(converted, output, overwrite=overwrite)
    except UnsupportedError as error:
        raise _not_compiled(error) from error
    return [_wrote(paths, _count(converted))]


def _cartridge(converted: Converted, output: Path, place: _Place) -> list[str]:
    from crayon_hf.formats.repository import cartridge_of

    try:
        cartridge = cartridge_of(converted)
    except UnsupportedError as error:
        raise _not_compiled(error) from error
    return [_write(output, place, {".json": converted.tokenizer_json, ".dat": cartridge}, _count(converted))]


def _json(converted: Converted, output: Path, place: _Place) -> list[str]:
    from crayon_hf.formats.export import to_tokenizer_json

    return [_write(output, place, {".json": to_tokenizer_json(converted)}, _count(converted))]


def _ranks(converted: Converted, output: Path, place: _Place) -> list[str]:
    from crayon_hf.formats.export import to_tiktoken

    ranks = to_tiktoken(converted)
    lines = [_write(output, place, {output.suffix: ranks.data}, ranks.data.count(b"\n"))]
    lines.append(f"pattern: {ranks.pattern or 'no pattern splits text as this tokenizer does'}")
    lines += [f"special token: {token}={id}" for token, id in ranks.special_tokens.items()]
    return lines


def _model(converted: Converted, output: Path, place: _Place) -> list[str]:
    from crayon_hf.formats.export import to_sentencepiece

    made = to_sentencepiece(converted, inexact=place.inexact)
    line = _write(output, place, {output.suffix: made.data}, made.pieces)
    return [line, *map(_differs, made.differences)]


def _gguf(converted: Converted, output: Path, place: _Place) -> list[str]:
    from crayon_hf.formats.export import to_gguf

    made = to_gguf(converted, inexact=place.inexact)
    line = _write(output, place, {output.suffix: made.data}, made.tokens)
    pre = f", pre-tokenizer: {made.pre}" if made.pre else ""
    return [line, f"model: {made.model}{pre}", *map(_differs, made.differences)]


def _differs(case: str) -> str:
    return f"not exact: {case}"


def _version_2(converted: Converted, output: Path, place: _Place) -> list[str]:
    from crayon_hf.formats.export import to_crayon_v2

    made = to_crayon_v2(converted)
    return [_write(output, place, {".json": made.companion, ".dat": made.cartridge}, made.keys)]


_WRITERS: dict[str, _Writer] = {
    ".dat": _cartridge,
    ".json": _json,
    ".tiktoken": _ranks,
    ".model": _model,
    ".gguf": _gguf,
}
"""The writer for each suffix of an output."""


def _write(output: Path, place: _Place, files: dict[str, bytes], tokens: int) -> str:
    """Write one file for each suffix in `files`, named after the output. Return the line to print."""
    from crayon_hf.formats.crayon_v2 import companion_of
    from crayon_hf.formats.repository import write_beside

    if not output.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(output.parent))
    source = [*filter(os.path.isfile, (place.source, companion_of(place.source) or place.source))]
    return _wrote(write_beside(output, files, source, place.overwrite)[::-1], tokens)


def _wrote(paths: list[str], tokens: int) -> str:
    return f"wrote {joined(paths)}: {plural(tokens, 'token')}"


def _not_compiled(error: UnsupportedError) -> UnsupportedError:
    return UnsupportedError(
        f"cannot be compiled: the engine does not support it: {error} (--to tokenizer.json writes the vocabulary alone)"
    )


def _count(converted: Converted) -> int:
    from crayon_hf.formats.export import count_tokens

    count: int = count_tokens(converted)
    return count
