"""The command ``convert``: any source of a vocabulary to any output format."""

from __future__ import annotations

import argparse
import errno
import os
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crayon_hf.cli.arguments import add_command
from crayon_hf.cli.tokenizers import local_name
from crayon_hf.errors import CartridgeError, CrayonError, UnsupportedError, VocabularyError
from crayon_hf.formats.names import NameKind, resolve
from crayon_hf.util.progress import Line, is_watched, time_left

if TYPE_CHECKING:
    from crayon_hf.formats.converted import Converted

FORMS = {"tokenizer.json": ".json", "tiktoken": ".tiktoken", "v2": ".dat"}
"""What ``--to`` takes, and how the names of such files end."""

_GENERIC = ("tokenizer", "tekken", "vocab", "merges", "spiece", "sentencepiece.bpe")
"""A file of such a name is called after its directory."""


def add_convert(subparsers: Any) -> None:
    """What ``convert`` takes."""
    command = add_command(
        subparsers,
        "convert",
        convert,
        "convert any vocabulary to a cartridge, a directory or another form",
        "Makes a directory that transformers opens: tokenizer.json, tokenizer_config.json and the cartridge "
        "tokenizer.dat.\n\n"
        "The source is a tokenizer.json, a directory of Hugging Face, vocab.json with merges.txt, vocab.txt, a "
        "SentencePiece model, a GGUF file, a tekken.json, a tiktoken rank file, or a cartridge (.dat) of crayon-hf or "
        "CRAYON; its content tells which. Or it is the name of a profile, of a tiktoken encoding, or of a repository "
        "of the Hub (user/name).",
        (
            ("crayon-hf convert lite -o my-model/", "a directory for transformers"),
            ("crayon-hf convert tokenizer.json -o small.dat", "a cartridge and its small.json"),
            ("crayon-hf convert tokenizer.json --to tiktoken -o small.tiktoken", "a rank file"),
        ),
    )
    command.add_argument("source", help="a file, a directory, or the name of a profile, an encoding or a repository")
    command.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        help="a directory; OUT.dat for the cartridge with its OUT.json; OUT.json for the tokenizer.json alone; "
        "OUT.tiktoken for the ranks (default: a directory here with the name of the source)",
    )
    command.add_argument(
        "--to",
        choices=list(FORMS),
        help="one file of this form instead; v2 is CRAYON's own .dat, with the .json of its strings",
    )
    command.add_argument("--progress", action="store_true", help="report progress, even without a terminal")
    ranks = command.add_argument_group("rank files of tiktoken")
    ranks.add_argument("--pattern", help="the pattern that splits text")
    ranks.add_argument("--name", help="the encoding whose pattern and special tokens are used")
    ranks.add_argument(
        "--special",
        action="append",
        type=special_token,
        metavar="TOKEN=ID",
        help="a special token and its id; may be repeated",
    )


def special_token(text: str) -> tuple[str, int]:
    """TOKEN=ID as a pair. ArgumentTypeError for other text."""
    token, separator, id = text.rpartition("=")
    if not separator or not token or not id.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not TOKEN=ID")
    return token, int(id)


def convert(arguments: argparse.Namespace) -> int:
    """A vocabulary to a directory, to a cartridge or to another form."""
    from crayon_hf.formats import convert as convert_source

    meaning, form = resolve(arguments.source), arguments.to
    source = local_name(meaning.path or arguments.source)
    place = meaning.name if meaning.kind is NameKind.ENCODING else source
    if meaning.kind not in (NameKind.PATH, NameKind.UNKNOWN) and not arguments.output:
        arguments.output = meaning.name.rpartition("/")[2].partition("@")[0] + (FORMS[form] if form else "")
    output = Path(arguments.output) if arguments.output else _default_output(place, form)
    write = _writer(output, form, arguments.output or "", place)
    given = {"pattern": arguments.pattern, "name": arguments.name, "special_tokens": dict(arguments.special or ())}
    options = {key: value for key, value in given.items() if value}
    progress = _Progress() if arguments.progress or is_watched(sys.stderr) else None
    try:
        lines = write(convert_source(source, progress=progress, **options))
    except (CartridgeError, VocabularyError) as error:
        raise error if source in str(error) else type(error)(f"{source}: {error}") from error
    finally:
        if progress is not None:
            progress.end()
    for line in lines:
        sys.stdout.buffer.write(os.fsencode(line) + b"\n")
    return 0


def _default_output(source: str, form: str | None) -> Path:
    """In the current directory, called after the source."""
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


def _writer(output: Path, form: str | None, given: str, source: str) -> Callable[[Converted], list[str]]:
    suffix = output.suffix
    if form is not None:
        if output.is_dir():
            output = output / ("tokenizer.json" if form == "tokenizer.json" else _default_output(source, form).name)
        elif suffix != FORMS[form]:
            raise CrayonError(f"{output}: the name of the output of --to {form} must end in {FORMS[form]}")
        return {"tokenizer.json": _json, "tiktoken": _ranks, "v2": _version_2}[form](output, source)
    if given.endswith(("/", os.sep)) or output.is_dir():
        return _directory(output)
    known: dict[str, Any] = {".dat": _cartridge, ".json": _json, ".tiktoken": _ranks}
    if suffix in known:
        return known[suffix](output, source)  # type: ignore[no-any-return]
    if given and re.fullmatch(r"\.[A-Za-z]\w*", suffix):
        raise CrayonError(
            f"{output}: the name of the output must end in .dat, .json (the tokenizer.json alone) or .tiktoken, "
            "or in / for a directory"
        )
    return _directory(output)


# -- each gives a function that writes, and says what was written


def _directory(output: Path) -> Callable[[Converted], list[str]]:
    def write(converted: Converted) -> list[str]:
        from crayon_hf.formats import write as write_directory

        try:
            paths = write_directory(converted, output)
        except UnsupportedError as error:
            raise _not_compiled(error) from error
        return [_wrote(paths, _count(converted))]

    return write


def _cartridge(output: Path, source: str) -> Callable[[Converted], list[str]]:
    def write(converted: Converted) -> list[str]:
        from crayon_hf.formats.repository import cartridge_of

        try:
            cartridge = cartridge_of(converted)
        except UnsupportedError as error:
            raise _not_compiled(error) from error
        return [_write(output, source, {".json": converted.tokenizer_json, ".dat": cartridge}, _count(converted))]

    return write


def _json(output: Path, source: str) -> Callable[[Converted], list[str]]:
    def write(converted: Converted) -> list[str]:
        from crayon_hf.formats.export import to_tokenizer_json

        return [_write(output, source, {".json": to_tokenizer_json(converted)}, _count(converted))]

    return write


def _ranks(output: Path, source: str) -> Callable[[Converted], list[str]]:
    def write(converted: Converted) -> list[str]:
        from crayon_hf.formats.export import to_tiktoken

        ranks = to_tiktoken(converted)
        lines = [_write(output, source, {output.suffix: ranks.data}, ranks.data.count(b"\n"))]
        lines.append(f"pattern: {ranks.pattern or 'none does what comes before the model here'}")
        lines += [f"special token: {token}={id}" for token, id in ranks.special_tokens.items()]
        return lines

    return write


def _version_2(output: Path, source: str) -> Callable[[Converted], list[str]]:
    def write(converted: Converted) -> list[str]:
        from crayon_hf.formats.export import to_crayon_v2

        made = to_crayon_v2(converted)
        return [_write(output, source, {".json": made.companion, ".dat": made.cartridge}, made.keys)]

    return write


def _write(output: Path, source: str, files: dict[str, bytes], tokens: int) -> str:
    """Write files that have the name of the output with one ending each, but none over a file of the source."""
    from crayon_hf.formats.crayon_v2 import companion_of
    from crayon_hf.formats.repository import write_together

    if not output.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(output.parent))
    paths = {suffix: output.with_suffix(suffix) for suffix in files}
    for given in filter(os.path.isfile, (source, companion_of(source) or source)):
        for suffix, path in paths.items():
            if path.exists() and path.samefile(given) and not _has(path, files[suffix]):
                raise CrayonError(f"{path} is a file of the source, and would be overwritten: give -o another name")
    write_together(str(output.parent), {paths[suffix].name: data for suffix, data in files.items()})
    return _wrote([str(paths[suffix]) for suffix in reversed(files)], tokens)


def _has(path: Path, data: bytes) -> bool:
    return path.stat().st_size == len(data) and path.read_bytes() == data  # a GGUF file may be larger than memory


def _wrote(paths: list[str], tokens: int) -> str:
    return f"wrote {' and '.join(paths)}: {tokens} tokens"


def _not_compiled(error: UnsupportedError) -> UnsupportedError:
    return UnsupportedError(
        f"cannot be compiled: the engine does not support it: {error} (--to tokenizer.json writes the vocabulary alone)"
    )


def _count(converted: Converted) -> int:
    from crayon_hf.formats.export import count_tokens

    count: int = count_tokens(converted)
    return count


class _Progress:
    """What is being done, on standard error."""

    def __init__(self) -> None:
        self._line = Line()
        self._what, self._begun = "", 0.0

    def __call__(self, what: str, done: int, total: int) -> None:
        if what != self._what:
            self._what, self._begun = what, time.monotonic()
        if self._line.is_due() or done >= total:
            left = time_left(self._begun, done, total)
            self._line.write(f"{what}: {done} of {total}{left}" if total else what)

    def end(self) -> None:
        """Leave the line empty."""
        self._line.clear()
