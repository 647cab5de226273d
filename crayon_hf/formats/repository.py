"""Write a converted vocabulary as files: a directory that transformers opens, or a cartridge."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from crayon_hf import _core
from crayon_hf.cartridges import cache
from crayon_hf.cartridges.compiling import compile_json
from crayon_hf.cartridges.opened_source import Source, beside
from crayon_hf.errors import CrayonError, VocabularyError
from crayon_hf.formats.converted import Converted
from crayon_hf.formats.sidecar_files import read_object
from crayon_hf.tokenizer_json import document as tokenizer_json
from crayon_hf.tokenizer_json.parts import parsed
from crayon_hf.util.files import write_atomic

JSON, CONFIG, CARTRIDGE = "tokenizer.json", "tokenizer_config.json", "tokenizer.dat"
TEMPLATES = "additional_chat_templates/"
_SETTINGS = (CONFIG, "special_tokens_map.json", "added_tokens.json", "chat_template.jinja")
"""Files with settings alone, without a vocabulary."""
_FILES = (
    *(JSON, *_SETTINGS, "vocab.json", "merges.txt", "vocab.txt"),
    *("tokenizer.model", "spiece.model", "sentencepiece.bpe.model", "tekken.json"),
)

_DEFAULTS = {"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": False}
ROLES = ("bos", "eos", "unk", "sep", "pad", "cls", "mask")
_FLAGS = ("single_word", "lstrip", "rstrip", "normalized")
_PLAIN_TEMPLATE = {
    "type": "TemplateProcessing",
    "single": [{"Sequence": {"id": "A", "type_id": 0}}],
    "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
    "special_tokens": {},
}


def is_tokenizer_file(name: str) -> bool:
    """Whether a file of a directory belongs to its tokenizer. Weights and unknown files never do.

    >>> [is_tokenizer_file(name) for name in ("vocab.txt", "additional_chat_templates/x.jinja", "config.json", "a.txt")]
    [True, True, False, False]
    """
    folder, _, file = name.rpartition("/")
    if folder:
        return f"{folder}/" == TEMPLATES and file.endswith(".jinja")
    return name in _FILES or name.endswith(".tiktoken")


def tokenizer_in(folder: str, settings: bool = False) -> list[str]:
    """Return the files of the tokenizer in a directory. A directory with settings alone counts only with `settings`."""
    if not os.path.isdir(folder):
        return []
    templates = os.path.join(folder, TEMPLATES)
    more = [f"{TEMPLATES}{name}" for name in os.listdir(templates)] if os.path.isdir(templates) else []
    names = [name for name in [*os.listdir(folder), *more] if name == CARTRIDGE or is_tokenizer_file(name)]
    names = sorted(name for name in names if os.path.isfile(os.path.join(folder, name)))
    return names if settings or any(name not in _SETTINGS and "/" not in name for name in names) else []


def write(
    converted: Converted,
    directory: str | os.PathLike[str],
    cartridge: bool,
    overwrite: bool | None = None,
    more: Mapping[str, bytes] = MappingProxyType({}),
) -> list[str]:
    """See `crayon_hf.formats.write`; `more` are additional files, by name, written together with the others."""
    folder = os.fspath(directory)
    others = [] if overwrite is None else tokenizer_in(folder, settings=overwrite)
    config = _config(converted, "" if overwrite else folder)
    source = as_transformers_saves(converted.tokenizer_json, config)
    if others and not overwrite:
        if not has_bytes(os.path.join(folder, JSON), source):
            raise has_another(folder, others)
        others = []
    files = {JSON: source, CONFIG: json.dumps(config, indent=2, ensure_ascii=False).encode() + b"\n"}
    if cartridge:
        files[CARTRIDGE] = cartridge_of(converted, source)
    files |= more
    write_together(folder, files, removed=tuple({*others, CARTRIDGE} - {*files}))
    return [os.path.join(folder, name) for name in files]


def overwriting(converted: Converted, source: Sequence[str], folder: str, overwrite: bool) -> bool | None:
    """The argument `overwrite` of `write` for a conversion of `source`, a directory or files.

    Return None if the source is in the output directory, whose settings then stay. Raises FileExistsError if the
    directory also has another tokenizer's ``tokenizer.json``, unless `overwrite` is true.
    """
    places = [path if os.path.isdir(path) else os.path.dirname(path) or "." for path in source if os.path.exists(path)]
    if not os.path.isdir(folder) or not any(os.path.samefile(place, folder) for place in places):
        return overwrite
    there = os.path.join(folder, JSON)
    is_kept = not os.path.exists(there) or any(os.path.isdir(path) or os.path.samefile(path, there) for path in source)
    if not is_kept and not overwrite:
        written = as_transformers_saves(converted.tokenizer_json, _config(converted, folder))
        if not has_bytes(there, written):
            raise has_another(folder, [JSON])
    return None


def _config(converted: Converted, folder: str) -> dict[str, Any]:
    existing = read_object(os.path.join(folder, CONFIG)) if folder else {}
    return {**_DEFAULTS, **existing, **converted.config}


def cartridge_of(converted: Converted, source: bytes | None = None) -> bytes:
    """Compile `source`, a ``tokenizer.json``; by default that of `converted`, unchanged."""
    return compile_json(converted.tokenizer_json if source is None else source, metadata_of(converted))


def opened_cartridge(converted: Converted) -> bytes:
    """Compile the cartridge from which crayon_hf opens the source directly, with the metadata `Converted.opened`."""
    return cartridge_of(converted._replace(metadata={**converted.metadata, **converted.opened}))


def metadata_of(converted: Converted) -> str:
    """The cartridge's metadata about its source."""
    name = {} if converted.name is None else {"name": converted.name}
    return json.dumps({"reference": converted.reference} | name | dict(converted.metadata), separators=(",", ":"))


def read_cartridge(path: str) -> Converted:
    """Read a version 3 cartridge: the ``tokenizer.json`` beside it, and its metadata."""
    path = os.path.abspath(path)
    engine = cache.open_cartridge(path)
    source = Source(beside(path), engine.source_digest)
    metadata: dict[str, Any] = json.loads(engine.metadata)
    reference, name = metadata.pop("reference", "tokenizers"), metadata.pop("name", None)
    return Converted(source.read(), {}, reference, name, MappingProxyType(metadata))


def as_transformers_saves(data: bytes, config: Mapping[str, Any]) -> bytes:
    """Return a ``tokenizer.json`` byte for byte as transformers saves it after opening it with that config.

    So every way to open the two files gives the same tokenizer, which one cartridge fits. The special tokens that the
    config names become added tokens: they are found in texts, and `decode` skips them. A missing post-processor becomes
    a template that adds nothing, as in transformers. The scores of a Unigram model are rounded to values that the
    library reads exactly: the few that it cannot read become their neighbours.
    """
    document = _parsed(_core.json_normalize(data).encode() if b'"Unigram"' in data else data)
    try:
        added = [*(document.get("added_tokens") or []), *_named_tokens(document, config)]
        document["added_tokens"] = sorted(added, key=lambda token: token["id"])
        if document.get("post_processor") is None:
            document["post_processor"] = _PLAIN_TEMPLATE
        if isinstance(vocab := document["model"].get("vocab"), list):
            scores = _core.settle_scores([score for _, score in vocab])
            document["model"]["vocab"] = [[piece, score] for (piece, _), score in zip(vocab, scores, strict=True)]
            return tokenizer_json.dump(document).encode()
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise VocabularyError(f"the tokenizer.json is malformed: {error}") from error
    return _written(document)


def _named_tokens(document: Mapping[str, Any], config: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The special tokens of a config that are in the vocabulary and are not added tokens yet."""
    vocab = document["model"].get("vocab")
    ids = {row[0]: id for id, row in enumerate(vocab)} if isinstance(vocab, list) else vocab or {}
    known = {token["content"] for token in document.get("added_tokens") or []}
    named: dict[str, dict[str, Any]] = {}
    for value in (config.get(f"{name}_token") for name in ROLES):
        token = value if isinstance(value, Mapping) else {"content": value}
        if isinstance(content := token.get("content"), str) and content in ids and content not in known:
            flags = {name: bool(token.get(name, False)) for name in _FLAGS}
            named.setdefault(content, {"id": ids[content], "content": content, **flags, "special": True})
    return sorted(named.values(), key=lambda token: token["id"])


def as_the_library_writes(data: bytes) -> bytes:
    """Return a ``tokenizer.json`` as the ``tokenizers`` library writes it, indented."""
    return _written(_parsed(data))


def _parsed(data: bytes) -> dict[str, Any]:
    document = parsed(data, "the tokenizer.json")
    if not isinstance(document, dict) or not isinstance(document.get("model"), dict):
        raise VocabularyError("the tokenizer.json has no model")
    return document


def _written(document: dict[str, Any]) -> bytes:
    try:
        return tokenizer_json.write({"added_tokens": []} | document, pretty=True)
    except (KeyError, TypeError, AttributeError, UnicodeEncodeError) as error:
        raise VocabularyError(f"the tokenizer.json is malformed: {error}") from error


def has_another(path: str, files: Sequence[str] = ()) -> FileExistsError:
    """The error for an output path that holds another tokenizer."""
    names = f" ({', '.join(files)})" if files else ""
    message = f"has another tokenizer{names}: choose another output, or replace it with --overwrite (overwrite=True)"
    return FileExistsError(errno.EEXIST, message, path)


def is_cartridge(path: str) -> bool:
    """Whether a file is a cartridge of any version."""
    try:
        with open(path, "rb") as file:
            return file.read(4) == b"CRAY"
    except OSError:
        return False


def has_bytes(path: str, data: bytes) -> bool:
    """Whether a file exists and has these bytes."""
    try:
        with open(path, "rb") as file:
            return os.fstat(file.fileno()).st_size == len(data) and file.read() == data
    except OSError:
        return False


def write_beside(output: Path, files: Mapping[str, bytes], source: Iterable[str], overwrite: bool) -> list[str]:
    """Write `files` (contents by suffix) under the name of `output`: all of them, or none. Return their paths.

    Raises:
        CrayonError: A file of `source` would be overwritten.
        FileExistsError: A file exists with other contents, for another tokenizer, and `overwrite` is false.
    """
    paths = {suffix: output.with_suffix(suffix) for suffix in files}
    taken = [path for suffix, path in paths.items() if path.exists() and not has_bytes(str(path), files[suffix])]
    for path in taken:
        if any(path.samefile(file) for file in source):
            raise CrayonError(f"{path} is a file of the source, and would be overwritten: give -o another name")
    stale = output.with_suffix(".dat")
    is_same = ".json" in files and has_bytes(str(paths[".json"]), files[".json"]) and is_cartridge(str(stale))
    if taken and not is_same and not overwrite:  # `is_same`: only the cartridge's version differs
        raise has_another(str(taken[0]))
    removed = (stale.name,) if taken and ".dat" not in files and is_cartridge(str(stale)) else ()
    write_together(str(output.parent), {paths[suffix].name: data for suffix, data in files.items()}, removed)
    return [*map(str, paths.values())]


def write_together(folder: str, files: Mapping[str, bytes], removed: tuple[str, ...] = ()) -> None:
    """Write files into a directory, created if missing: all of them, or none."""
    os.makedirs(folder, exist_ok=True)
    for name in (*files, *removed):
        if os.path.isdir(path := os.path.join(folder, name)):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    stage = os.path.join(folder, f".{os.getpid()}-{os.urandom(6).hex()}.tmp")
    try:
        os.mkdir(stage)
        for name, data in files.items():
            write_atomic(os.path.join(stage, name), data)
        for name in removed:
            if os.path.lexists(os.path.join(folder, name)):
                os.unlink(os.path.join(folder, name))
        for name in files:
            os.replace(os.path.join(stage, name), os.path.realpath(os.path.join(folder, name)))
        os.rmdir(stage)
    except BaseException:
        shutil.rmtree(stage, ignore_errors=True)
        with contextlib.suppress(OSError):
            os.rmdir(folder)  # only if empty
        raise
