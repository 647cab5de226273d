"""Readers of other vocabulary formats. Each returns a ``tokenizer.json``, the only form that cartridges are made from.

`convert` reads any source, `write` makes a directory that transformers opens, and `crayon_hf.formats.export` writes
other formats.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crayon_hf.formats.converted import Converted, Progress
    from crayon_hf.formats.recognise import Kind

__all__ = ["REVISIONS", "convert", "read", "write"]

REVISIONS = {"CRAYON_V2": 1, "GGUF": 1, "SENTENCEPIECE": 2, "TEKKEN": 1, "VOCAB_JSON": 1, "WORDPIECE": 1}
"""The revision of each reader, a part of the key under which its results are cached. Raise it when the same source
yields another tokenizer.json. The revision for rank files is in `tiktoken`."""

_CARRIED = ("chat_template", "model_max_length")
"""Settings that are copied from a tokenizer_config.json beside a vocabulary file of any format."""


def convert(
    source: Any,
    *,
    pattern: str | None = None,
    special_tokens: Mapping[str, int] | None = None,
    name: str | None = None,
    progress: Progress | None = None,
) -> Converted:
    """Read a vocabulary of any supported format.

    Args:
        source: The path of a file or directory, the name of a profile or of a tiktoken encoding, or a
            ``tiktoken.Encoding``. A file's format is recognised by its content.
        pattern: The split pattern of a rank file, which does not contain one.
        special_tokens: The special tokens of a rank file and their ids.
        name: The published encoding whose pattern and special tokens a rank file uses.
        progress: Called during a long conversion.

    Returns:
        The ``tokenizer.json``, its config, and the name of the library whose ids are right.

    Raises:
        VocabularyError: The source is damaged or of an unknown format.
        UnsupportedError: No ``tokenizer.json`` gives the same ids as the source.

    docs/sources.md has examples.
    """
    from crayon_hf.formats.names import NameKind, path_of, resolve
    from crayon_hf.formats.recognise import recognise
    from crayon_hf.formats.tiktoken_objects import is_encoding_name, read_encoding

    options = {"pattern": pattern, "special_tokens": special_tokens, "name": name}
    given: dict[str, Any] = {key: value for key, value in options.items() if value is not None}
    if not isinstance(source, (str, os.PathLike)):
        return read_encoding(source, **given)
    meaning = resolve(source)
    if meaning.kind is NameKind.ENCODING or (meaning.path is None and is_encoding_name(meaning.name)):
        return read_encoding(meaning.name, **given)
    path = path_of(meaning)
    return read(recognise(path), path, progress=progress, **given)


def read(
    kind: Kind,
    path: str,
    data: bytes | None = None,
    *,
    progress: Progress | None = None,
    opening: bool = False,
    **options: Any,
) -> Converted:
    """Read a source of a known kind. `data` is the content of the file, if the caller has read it.

    Set `opening` if the result is only compiled into a cartridge. Its ``tokenizer.json`` may then express less than
    the source; `Converted.inexact` has the reason.
    """
    from crayon_hf.util.collector import CollectorPause

    with CollectorPause():
        return _read(kind, path, data, progress, opening, options)


def _read(
    kind: Kind, path: str, data: bytes | None, progress: Progress | None, opening: bool, options: dict[str, Any]
) -> Converted:
    from crayon_hf.errors import VocabularyError
    from crayon_hf.formats import huggingface
    from crayon_hf.formats.recognise import Kind, look_into, vocab_and_merges
    from crayon_hf.formats.sidecar_files import files_beside
    from crayon_hf.util.files import read_source

    if kind is Kind.DIRECTORY:
        kind, file = look_into(path)
        converted = read(kind, file, progress=progress, **options)
        if kind in (Kind.TOKENIZER_JSON, Kind.VOCAB_JSON, Kind.WORDPIECE):
            return converted
        beside = files_beside(file).config
        return converted._replace(config={key: beside[key] for key in _CARRIED if key in beside} | converted.config)
    if kind is Kind.GGUF:  # its file is never read whole
        from crayon_hf.formats.gguf import read_gguf

        _refuse(options, kind, path)
        return read_gguf(path, progress=progress)
    if kind is Kind.CARTRIDGE:
        from crayon_hf.formats.repository import read_cartridge

        _refuse(options, kind, path)
        return read_cartridge(path)
    data = read_source(path) if data is None else data
    if kind is Kind.TIKTOKEN:
        from crayon_hf.formats.tiktoken_objects import read_rank_file

        return read_rank_file(data, **options)
    _refuse(options, kind, path)
    if kind is Kind.TOKENIZER_JSON:
        return huggingface.read_tokenizer_json(data, files_beside(path))
    if kind in (Kind.VOCAB_JSON, Kind.MERGES):
        vocab, merges = vocab_and_merges(path, kind)
        files = (data, read_source(merges)) if kind is Kind.VOCAB_JSON else (read_source(vocab), data)
        return huggingface.read_vocab_and_merges(*files, files_beside(path))
    if kind is Kind.WORDPIECE:
        return huggingface.read_wordpiece(data, files_beside(path))
    if kind is Kind.SENTENCEPIECE:
        from crayon_hf.formats.sentencepiece import read_sentencepiece

        return read_sentencepiece(data, progress, opening=opening)
    if kind is Kind.TEKKEN:
        from crayon_hf.formats.tekken import read_tekken

        return read_tekken(data, progress=progress)
    if kind is Kind.CRAYON_V2:
        from crayon_hf.formats.crayon_v2 import companion_of, read_companion, read_crayon_v2

        companion = companion_of(path)
        return read_crayon_v2(data, None if companion is None else read_companion(read_source(companion)))
    raise VocabularyError(f"{path} is {kind}, which is not supported")


def write(
    converted: Converted,
    directory: str | os.PathLike[str],
    cartridge: bool = True,
    *,
    overwrite: bool | None = None,
) -> list[str]:
    """Write a directory that transformers opens, and that crayon_hf opens without compiling.

    ``tokenizer.json``, ``tokenizer_config.json`` and ``tokenizer.dat`` appear together, or not at all. Other files in
    the directory stay, and so do settings of a tokenizer_config.json that the vocabulary does not set.

    Args:
        converted: The result of `convert`.
        directory: Where to write; created if missing.
        cartridge: Whether to write the cartridge, too.
        overwrite: False refuses a directory with another tokenizer; True removes all files of that tokenizer, its
            settings included; None replaces the three files only.

    Returns:
        The paths of the files.

    Raises:
        FileExistsError: The directory has another tokenizer, and `overwrite` is False.

    docs/sources.md has examples.
    """
    from crayon_hf.formats.repository import write as write_repository

    written: list[str] = write_repository(converted, directory, cartridge, overwrite)
    return written


def _refuse(options: Mapping[str, Any], kind: Kind, path: str) -> None:
    from crayon_hf.errors import VocabularyError

    if options:
        raise VocabularyError(f"{path} is {kind.value}: {', '.join(options)} is for tiktoken rank files")
