"""Runs `from_pretrained` for our classes and for `AutoTokenizer`: from a snapshot, or else by transformers."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Any

from crayon_hf.tokenizer.opening import fetch_cartridge
from crayon_hf.transformers import backend as backends
from crayon_hf.transformers import snapshots
from crayon_hf.transformers.classes import adopt
from crayon_hf.transformers.construction import Construction, building
from crayon_hf.transformers.damage import damage_named
from crayon_hf.util.collector import CollectorPause
from crayon_hf.util.hub_errors import is_unavailable

_OTHER_VOCABULARY = (
    "this class of transformers builds another vocabulary than that of the tokenizer.json, or uses a component that is "
    "not native with it"
)


def load(stock: Callable[..., Any], kind: Any, name: Any, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the tokenizer of ``stock(name, *inputs, **kwargs)`` with our class. `stock` is a `from_pretrained`.

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
    fetch = None if inputs else partial(_fetch_cartridge, name, kwargs)
    refused = None
    with CollectorPause() if directory is not None else nullcontext():  # no pause during a download
        for construction in (Construction(fetch), Construction(None)):
            try:
                with _Messages() as messages, building(construction), damage_named(name, directory, kwargs):
                    tokenizer = stock(name, *inputs, **kwargs)
                adopted = adopt(tokenizer, keep=True)
            except Exception:
                if not construction.was_used:
                    raise
                continue  # the library may raise another error, or none
            vocabulary = construction.vocabulary()
            if construction.has_cartridge:
                refused = _OTHER_VOCABULARY
            is_settled = backends.settle_built(adopted, None if vocabulary is None else vocabulary.engine)
            if is_settled or not construction.was_used:
                break
            # Our engine does not support the model that the class makes of the file's vocabulary: the library builds it
        if refused is not None:
            backends.note_unused(adopted, refused)
        if before is not None and directory and before == snapshots.fingerprint(kind, name, directory, kwargs):
            snapshots.keep(before, adopted, directory, messages.seen, vocabulary)
    return adopted


def is_cartridge(name: Any) -> bool:
    """Whether the name of a tokenizer is the path of a cartridge."""
    return isinstance(name, (str, os.PathLike)) and os.fspath(name).endswith(".dat") and os.path.isfile(name)


def _directory(name: Any, kwargs: dict[str, Any]) -> str | None:
    """Return the local directory with the files of the tokenizer `name`, or None if they cannot be found."""
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
    """Download the cartridge of a Hub repository, if it has one, beside its ``tokenizer.json`` at `path`."""
    if isinstance(name, str) and not os.path.exists(name):
        fetch_cartridge(name, path, **_given(kwargs, "token", "local_files_only"))


def _cached(name: str, file: str, kwargs: dict[str, Any]) -> str | None:
    """Return a Hub repository's file in the client's cache, or None if unavailable. Download it if necessary."""
    from transformers.utils.hub import cached_file

    try:
        found: str | None = cached_file(
            name,
            file,
            **_given(kwargs, "cache_dir", "token", "revision", "local_files_only", "subfolder"),
            _raise_exceptions_for_gated_repo=False,
            _raise_exceptions_for_missing_entries=False,
            _raise_exceptions_for_connection_errors=False,
        )
    except Exception as error:
        if not is_unavailable(error):
            raise
        return None  # transformers reports the error
    return found


def _given(kwargs: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: kwargs[name] for name in names if kwargs.get(name) is not None}


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
