"""`from_pretrained` of our classes and of the stock `AutoTokenizer`: from a snapshot if possible, else by
transformers."""

from __future__ import annotations

import logging
import os
import re
import threading
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Any

from crayon_hf.transformers import backend as backends
from crayon_hf.transformers import snapshots
from crayon_hf.transformers.classes import adopt
from crayon_hf.transformers.construction import Construction, building
from crayon_hf.transformers.damage import damage_named
from crayon_hf.util.collector import CollectorPause
from crayon_hf.util.hub_errors import is_unavailable

CARTRIDGE = "tokenizer.dat"
_OTHER_VOCABULARY = (
    "this class of transformers builds another vocabulary than that of the tokenizer.json, or uses a component that is "
    "not native with it"
)
_COMMIT = re.compile(r"/snapshots/([0-9a-f]{40})/(.*)")


def load(stock: Callable[..., Any], kind: Any, name: Any, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the result of ``stock(name, *inputs, **kwargs)`` as ours.

    The first time, transformers makes the tokenizer, and a snapshot of the result is kept with a fingerprint of its
    sources. While the sources are unchanged, later calls restore the snapshot and the cartridge. `kind` identifies the
    caller: a class, or ``"auto"``.
    """
    directory = _directory(name, kwargs)
    before = None if inputs or directory is None else snapshots.fingerprint(kind, name, directory, kwargs)
    if before is not None:
        found = snapshots.restore(before)
        if found is not None:
            return found
    construction = Construction(None if inputs else partial(_fetch_cartridge, name, kwargs))
    build = partial(_build, stock, name, inputs, kwargs, directory)
    with CollectorPause() if directory is not None else nullcontext():  # no pause during a download
        try:
            adopted, messages = build(construction)
        except Exception:
            if not construction.was_used:
                raise
            construction = Construction(None)  # the library may raise another error, or none
            adopted, messages = build(construction)
        vocabulary = construction.vocabulary()
        is_settled = backends.settle_built(adopted, None if vocabulary is None else vocabulary.engine)
        if construction.was_used and not is_settled:
            # Our engine does not support the model that the class makes of the file's vocabulary: the library builds it
            vocabulary = None
            adopted, messages = build(Construction(None))
        if construction.has_cartridge:
            backends.note_unused(adopted, _OTHER_VOCABULARY)
        if before is not None and directory and before == snapshots.fingerprint(kind, name, directory, kwargs):
            snapshots.keep(before, adopted, directory, messages, vocabulary)
    return adopted


def _build(
    stock: Callable[..., Any],
    name: Any,
    inputs: tuple[Any, ...],
    kwargs: dict[str, Any],
    directory: str | None,
    construction: Construction,
) -> tuple[Any, list[tuple[str, int, str]]]:
    """Return the tokenizer that transformers builds, as ours, and the messages that it logs."""
    with _Messages() as messages, building(construction), damage_named(name, directory, kwargs):
        tokenizer = stock(name, *inputs, **kwargs)
    return adopt(tokenizer, keep=True), messages.seen


def _directory(name: Any, kwargs: dict[str, Any]) -> str | None:
    """Return the local directory of a repository's files, or None if they are not on this machine."""
    if not isinstance(name, (str, os.PathLike)):
        return None
    path = os.fspath(name)
    if not isinstance(path, str) or os.path.isfile(path):
        return None
    if os.path.isdir(path):
        return os.path.join(path, kwargs["subfolder"]) if kwargs.get("subfolder") else path
    return _repository(path, kwargs)


def _repository(name: str, kwargs: dict[str, Any]) -> str | None:
    """Return the directory of a Hub repository in the local cache, at the requested revision."""
    if kwargs.get("force_download") or kwargs.get("proxies") or kwargs.get("gguf_file"):
        return None
    found = _cached(name, "tokenizer_config.json", kwargs) or _cached(name, "tokenizer.json", kwargs)
    return None if found is None else os.path.dirname(found)


def _fetch_cartridge(name: Any, kwargs: dict[str, Any], path: str) -> None:
    """Download the cartridge of a Hub repository beside its ``tokenizer.json`` in the client's cache, if it has one.

    The cartridge is requested at the same commit. If the repository has none, this costs one request: the client
    remembers the answer for the commit.
    """
    directory = os.path.dirname(path)
    found = _COMMIT.search(os.path.join(directory, "").replace(os.sep, "/"))
    if found is None or not isinstance(name, str) or os.path.isdir(name):
        return
    if os.path.isfile(os.path.join(directory, CARTRIDGE)):
        return
    from huggingface_hub import try_to_load_from_cache

    commit, inside = found.groups()
    if try_to_load_from_cache(name, f"{inside}{CARTRIDGE}", kwargs.get("cache_dir"), commit) is None:
        _cached(name, CARTRIDGE, {**kwargs, "revision": commit})


def _cached(name: str, file: str, kwargs: dict[str, Any]) -> str | None:
    """Return a Hub repository's file in the client's cache, or None if unavailable. Download it if necessary."""
    from transformers.utils.hub import cached_file

    options = ("cache_dir", "token", "revision", "local_files_only", "subfolder")
    try:
        found: str | None = cached_file(
            name,
            file,
            **{key: kwargs[key] for key in options if kwargs.get(key) is not None},
            _raise_exceptions_for_gated_repo=False,
            _raise_exceptions_for_missing_entries=False,
            _raise_exceptions_for_connection_errors=False,
        )
    except Exception as error:
        if not is_unavailable(error):
            raise
        return None  # transformers reports the error
    return found


class _Messages(logging.Handler):
    """Records messages that transformers logs while it opens a tokenizer, so that a snapshot can repeat them."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.seen: list[tuple[str, int, str]] = []
        self._thread = threading.get_ident()

    def emit(self, record: logging.LogRecord) -> None:
        if record.thread == self._thread:
            self.seen.append((record.name, record.levelno, record.getMessage()))

    def __enter__(self) -> _Messages:
        logging.getLogger("transformers").addHandler(self)
        return self

    def __exit__(self, *error: object) -> None:
        logging.getLogger("transformers").removeHandler(self)
