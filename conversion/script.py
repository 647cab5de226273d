"""Functions that all scripts of this folder use: they read arguments, check the source, compute digests, write the
files."""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, NoReturn

from crayon_hf import formats
from crayon_hf.errors import CrayonError
from crayon_hf.formats.converted import Converted
from crayon_hf.formats.crayon_v2 import companion_of
from crayon_hf.formats.export import count_tokens
from crayon_hf.formats.recognise import Kind, look_into, recognise, vocab_and_merges
from crayon_hf.formats.repository import CARTRIDGE, CONFIG, JSON, cartridge_of, overwriting, write_beside
from crayon_hf.util.wording import error_line, joined, plural

READERS = {
    Kind.DIRECTORY: "python -m conversion.huggingface",
    Kind.TOKENIZER_JSON: "python -m conversion.huggingface",
    Kind.VOCAB_JSON: "python -m conversion.huggingface",
    Kind.MERGES: "python -m conversion.huggingface",
    Kind.WORDPIECE: "python -m conversion.huggingface",
    Kind.TIKTOKEN: "python -m conversion.tiktoken",
    Kind.SENTENCEPIECE: "python -m conversion.sentencepiece",
    Kind.GGUF: "python -m conversion.gguf",
    Kind.TEKKEN: "python -m conversion.tekken",
    Kind.CRAYON_V2: "python -m conversion.crayon",
    Kind.CARTRIDGE: "crayon-hf convert",
}
"""The command that converts each kind of source."""


class WrongKindError(CrayonError, ValueError):
    """A source of another kind than the script reads; the message names the command that reads it."""


class Source(NamedTuple):
    """A vocabulary's source: the files that hold it."""

    name: str
    """The name in messages: the paths of the files, or a name of the Hub or of tiktoken."""
    files: tuple[str, ...]
    digest: str
    """SHA-256 (hex) of the concatenated files: ``cat FILES | sha256sum``."""


class Written(NamedTuple):
    """A written cartridge, and the files beside it."""

    paths: tuple[str, ...]
    """The paths; the cartridge is the last one."""
    ids: int
    digest: str
    """SHA-256 (hex) of the cartridge."""


def parser(name: str, doc: str | None, source: str, about: str) -> argparse.ArgumentParser:
    """The arguments that every script has: the source, named `source` in the help, and the output."""
    made = argparse.ArgumentParser(
        prog=f"python -m conversion.{name}", description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("source", metavar=source, help=about)
    made.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        required=True,
        help="a directory that transformers opens, with the cartridge tokenizer.dat; or OUT.dat, for it and OUT.json",
    )
    return made


def of_file(name: str, doc: str | None, kind: Kind, about: str) -> Callable[[Sequence[str] | None], None]:
    """Make the `main` of a script that converts a file of one kind."""

    def main(argv: Sequence[str] | None = None) -> None:
        """Convert the file. Raise WrongKindError, VocabularyError, UnsupportedError or OSError."""
        options = parser(name, doc, "FILE", about).parse_args(argv)
        source = find(options.source, kind)
        write(formats.convert(options.source), options.output, source)

    return main


def find(path: str, *kinds: Kind) -> Source:
    """Return the vocabulary's source at `path`, with its files, if it is of one of these kinds. Raise WrongKindError,
    VocabularyError or OSError."""
    kind = recognise(path)
    if kind not in kinds:
        inside = f" (with {look_into(path)[0].value})" if kind is Kind.DIRECTORY else ""
        raise WrongKindError(f"{path} is {kind.value}{inside}: {READERS[kind]} reads it")
    return source_of(path)


def source_of(path: str) -> Source:
    """Return the files of a vocabulary of any kind, without files that have only settings."""
    kind, file = recognise(path), path
    if kind is Kind.DIRECTORY:
        kind, file = look_into(path)
    files: tuple[str, ...] = (file,)
    if kind in (Kind.VOCAB_JSON, Kind.MERGES):
        files = vocab_and_merges(file, kind)
    elif kind is Kind.CRAYON_V2 and (companion := companion_of(file)) is not None:
        files = (file, companion)
    return Source(joined(files), files, digest_of(*files))


def digest_of(*paths: str) -> str:
    """SHA-256 (hex) of the concatenated files, of any size."""
    digest = hashlib.sha256()
    for path in paths:
        with open(path, "rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()


def write(converted: Converted, output: str, source: Source) -> Written:
    """Write the cartridge, and print its files: a directory that transformers opens, or ``OUT.dat`` with ``OUT.json``.

    All files appear, or none. Raise UnsupportedError for a vocabulary that the engine does not support.
    """
    print(f"read {source.name}: sha256 {source.digest}")
    written = write_quietly(converted, output, source)
    for path in written.paths[:-1]:
        print(f"wrote {path}")
    print(f"wrote {written.paths[-1]}: {plural(written.ids, 'id')}, sha256 {written.digest}")
    return written


def write_quietly(converted: Converted, output: str, source: Source) -> Written:
    """Like `write`, but prints nothing."""
    try:
        if output.endswith(".dat"):
            data = {".json": converted.tokenizer_json, ".dat": cartridge_of(converted)}
            names = write_beside(Path(output), data, source.files, overwrite=False)
        else:
            for name in (os.path.join(output, name) for name in (JSON, CONFIG, CARTRIDGE)):
                if os.path.exists(name) and any(os.path.samefile(name, file) for file in source.files):
                    raise CrayonError(f"{name} is a file of the source, and would be overwritten: give another -o")
            names = formats.write(converted, output, overwrite=overwriting(converted, source.files, output, False))
    except FileExistsError as error:
        raise CrayonError(f"{output} has another tokenizer: give another -o") from error
    return Written(tuple(names), count_tokens(converted), digest_of(names[-1]))


def run(name: str, main: Callable[..., object]) -> NoReturn:
    """Run a script and end the process. Errors of files and vocabularies are one line, with exit code 1."""
    try:
        code = main(None)
    except (OSError, CrayonError, ValueError) as error:
        print(f"python -m conversion.{name}: error: {' '.join(error_line(error).split())}", file=sys.stderr)
        code = 1
    except KeyboardInterrupt:
        code = 130
    sys.exit(code if isinstance(code, int) else 0)
