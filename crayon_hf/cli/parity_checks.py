"""Quick checks of ``crayon-hf parity`` before minutes of work: outputs and certificates."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from crayon_hf.cli.arguments import Arguments, UsageError
from crayon_hf.errors import CartridgeError, CrayonError, VocabularyError
from crayon_hf.formats.names import Meaning, NameKind, meaning_of
from crayon_hf.formats.repository import CARTRIDGE, JSON
from crayon_hf.util.extras import need

_FORMS = ("json", "markdown", "html")
_OF_A_TOKENIZER = ("tokenizer.json", "tekken.json", "vocab.json", "vocab.txt", "merges.txt")
_CONFIGS = ("tokenizer_config.json", "config.json", "special_tokens_map.json", "added_tokens.json")
_SUFFIXES = (".dat", ".model", ".gguf", ".tiktoken", ".jinja")


@contextlib.contextmanager
def checked(arguments: Arguments) -> Iterator[str | None]:
    """Check the arguments. Yields the cartridge to certify, or None without ``--certify``.

    A directory without a cartridge gets one, which is removed at the end if it was not certified.

    Raises:
        UsageError: An output or the certificate cannot be written.
    """
    try:
        meaning = meaning_of(arguments.target)  # the comparison warns of an ambiguous name
    except (CrayonError, ValueError) as error:
        raise UsageError(str(error)) from error
    _check_outputs(arguments, meaning)
    if not arguments.certify:
        yield None
        return
    cartridge = _cartridge_to_certify(arguments, meaning)
    is_new = not os.path.lexists(cartridge)
    try:
        if is_new:
            _compile(cartridge)
        _check_content(arguments, meaning, cartridge)
        yield cartridge
    finally:
        if is_new and not _is_certified(cartridge):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(cartridge)


# -- outputs


def _check_outputs(arguments: Arguments, meaning: Meaning) -> None:
    if arguments.html or arguments.output:
        need("a page", "report", "jinja2")
    inputs = {os.path.realpath(path) for path in (*_files_of(meaning), *_texts(arguments.text))}
    seen: dict[str, str] = {}
    for said, path in _outputs(arguments):
        real = os.path.realpath(path)
        if other := seen.get(real):
            raise UsageError(f"{said} is the same file as {other}")
        seen[real] = said
        if any(_is_same(real, each) for each in inputs):
            raise UsageError(f"{said} would overwrite an input of the comparison")
        if os.path.isdir(real):
            raise UsageError(f"{said} is a directory; --output takes one")
        if os.path.lexists(real) and not os.path.isfile(real):
            raise UsageError(f"{said} is not a regular file")
    for name in _FORMS:
        path = getattr(arguments, name)
        if path is not None and path != "-":
            _check_place(f"--{name} {path}", os.path.dirname(os.path.realpath(path)))
    if arguments.output is not None:
        place = os.path.realpath(arguments.output)
        while not os.path.lexists(place):  # missing directories are created later
            place = os.path.dirname(place)
        if not os.path.isdir(place):
            raise UsageError(f"--output {arguments.output} is not a directory")
        _check_place(f"--output {arguments.output}", place)


def _outputs(arguments: Arguments) -> Iterator[tuple[str, str]]:
    """Yield each file to be written, as its name in messages and its path."""
    for name in (*_FORMS, "output"):
        if getattr(arguments, name) == "":
            raise UsageError(f"--{name} needs a path")
    for name in _FORMS:
        path = getattr(arguments, name)
        if path is not None and (name, path) != ("json", "-"):
            yield f"--{name} {path}", path
    if arguments.output is not None:
        for suffix in ("json", "md", "html"):
            path = os.path.join(arguments.output, f"parity.{suffix}")
            yield f"--output's {path}", path


def _check_place(said: str, directory: str) -> None:
    """Raise UsageError if no file can be created in a directory. `said` names the option in the message.

    A temporary file is created, because permissions alone do not tell.
    """
    if not os.path.isdir(directory):
        raise UsageError(f"{said}: its directory does not exist")
    try:
        with tempfile.TemporaryFile(dir=directory):
            pass
    except OSError as error:
        raise UsageError(f"{said}: cannot write there: {error.strerror}") from error


def _is_same(path: str, other: str) -> bool:
    if path == other:
        return True
    try:
        return os.path.samefile(path, other)
    except OSError:  # one of the paths does not exist
        return False


def _texts(given: list[str]) -> Iterator[str]:
    from crayon_hf.parity.inputs.texts import UnknownVocabularyError, text_files

    for text in given:
        try:
            yield from map(str, text_files(text).values())
        except UnknownVocabularyError as error:
            raise UsageError(str(error)) from error


def _files_of(meaning: Meaning) -> list[str]:
    """The local files of a target, which a report must not replace."""
    from crayon_hf.formats.tiktoken import find_published_file
    from crayon_hf.parity.inputs.texts import shared_vocabulary

    shared = None if meaning.path is not None else shared_vocabulary(meaning.name)
    target = meaning.path if shared is None else str(shared)
    if target is None:
        published = find_published_file(meaning.name) if meaning.kind is NameKind.ENCODING else None
        return [] if published is None else [published]
    if os.path.isfile(target):
        path = Path(target)
        others = [path.with_suffix(suffix) for suffix in (".json", ".dat") if path.suffix in (".json", ".dat")]
        others += [path.with_name(name) for name in _OF_A_TOKENIZER if path.name in _OF_A_TOKENIZER]
        return [target, *(str(other) for other in others if other.exists())]
    names = os.listdir(target) if os.path.isdir(target) else []
    read = [name for name in names if name in (*_OF_A_TOKENIZER, *_CONFIGS) or name.endswith(_SUFFIXES)]
    return [os.path.join(target, name) for name in (*read, CARTRIDGE)]  # --certify may create CARTRIDGE


# -- certificates


def _cartridge_to_certify(arguments: Arguments, meaning: Meaning) -> str:
    """Return the path of the user's own, writable cartridge. In a directory the cartridge need not exist yet."""
    from crayon_hf.tokenizer.opening import is_version_2

    if arguments.ours:
        raise UsageError("--certify cannot be combined with --ours: it certifies what crayon_hf opens")
    path = _cartridge_of(meaning)
    if path is None or (os.path.lexists(path) and is_version_2(path)):
        raise UsageError(f"--certify writes into a cartridge, but {arguments.target} is not one: {_convert(arguments)}")
    if (reason := _not_the_user_s(path)) is not None:
        raise UsageError(f"--certify: {path} {reason}: {_convert(arguments)}")
    if os.path.lexists(path) and not os.access(path, os.W_OK):
        raise UsageError(f"--certify: you may not write {path}: copy it and its .json to a directory where you may")
    _check_place(f"--certify: {path}", os.path.dirname(os.path.realpath(path)))
    return path


def _compile(cartridge: str) -> None:
    """Compile the ``tokenizer.json`` beside the cartridge."""
    from crayon_hf.cartridges.compiling import compile_json
    from crayon_hf.cartridges.opened_source import beside
    from crayon_hf.util.files import read_source, write_atomic

    source = beside(cartridge)
    try:
        data = compile_json(read_source(source))
    except VocabularyError as error:
        raise UsageError(f"--certify: {source} has no cartridge, and cannot be compiled: {error}") from error
    write_atomic(cartridge, data)


def _check_content(arguments: Arguments, meaning: Meaning, cartridge: str) -> None:
    """Raise UsageError unless the cartridge matches its ``tokenizer.json``."""
    from crayon_hf import certificate

    try:
        certificate.check(cartridge, arguments.against or ("tokenizers" if cartridge != meaning.path else ""))
    except (certificate.CertificateError, CartridgeError) as error:
        raise UsageError(f"--certify: {error}") from error


def _is_certified(cartridge: str) -> bool:
    from crayon_hf import _core

    try:
        return _core.Engine.open(cartridge).certificate is not None
    except (CartridgeError, OSError):
        return False


def _convert(arguments: Arguments) -> str:
    return (
        f"make one with crayon-hf convert {arguments.target} -o DIRECTORY/, then crayon-hf parity DIRECTORY/ --certify"
    )


def _not_the_user_s(path: str) -> str | None:
    """Return why a file must not change because others rely on it, or None for the user's own file."""
    from crayon_hf.cartridges import search_path
    from crayon_hf.hub import store

    real = Path(os.path.realpath(path))
    packaged = Path(search_path.__file__).parents[1] / "profiles"
    if real.parent == Path(os.path.realpath(packaged)):
        return "is a part of this package"
    if store.record_of(path) is not None or real.parent.parent.name == store.PLACE:
        return "was pulled, and must match its repository"
    if real.suffix != ".dat":
        return f"is a link into a file store ({real})"
    return None


def _cartridge_of(meaning: Meaning) -> str | None:
    """Return the cartridge of a target (a file, a directory or a profile), or None if it has none.

    In a directory with a ``tokenizer.json`` the cartridge need not exist yet.
    """
    path = meaning.path
    if path is not None and os.path.isdir(path):
        path, source = os.path.join(path, CARTRIDGE), os.path.join(path, JSON)
        if os.path.isfile(source) and not os.path.lexists(path):
            return path
    return path if path is not None and path.endswith(".dat") and os.path.isfile(path) else None
