"""`from_pretrained`, of ours and of the stock `AutoTokenizer`: from a snapshot when there is one, else as stock."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from typing import Any

from crayon_hf.transformers_face import snapshots
from crayon_hf.transformers_face.classes import adopt


def load(stock: Callable[..., Any], kind: Any, name: Any, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What ``stock(name, *inputs, **kwargs)`` returns, as ours.

    The first time transformers makes the tokenizer, and a snapshot of the result is kept. It says what the tokenizer
    was made of; while all that is unchanged, the next one is made from the snapshot and the cartridge. `kind` tells
    the callers apart: a class, or ``"auto"``.
    """
    directory = _directory(name, kwargs)
    before = None if inputs or directory is None else snapshots.fingerprint(kind, name, directory, kwargs)
    if before is not None:
        found = snapshots.restore(before)
        if found is not None:
            return found
    with _Messages() as messages:
        tokenizer = stock(name, *inputs, **kwargs)
    beside = os.path.join(directory, "tokenizer.dat") if directory is not None else None
    adopted = adopt(tokenizer, beside, keep=before is not None)
    if before is not None and directory is not None and before == snapshots.fingerprint(kind, name, directory, kwargs):
        snapshots.keep(before, adopted, directory, messages.seen)
    return adopted


def _directory(name: Any, kwargs: dict[str, Any]) -> str | None:
    """Where the files of a repository are on this machine; None when that takes more than a look."""
    if not isinstance(name, (str, os.PathLike)):
        return None
    path = os.fspath(name)
    if not isinstance(path, str) or os.path.isfile(path):
        return None
    if os.path.isdir(path):
        return os.path.join(path, kwargs["subfolder"]) if kwargs.get("subfolder") else path
    return _repository(path, kwargs)


def _repository(name: str, kwargs: dict[str, Any]) -> str | None:
    """The directory of a Hub repository in the local cache, at the revision that is asked for."""
    if kwargs.get("force_download") or kwargs.get("proxies") or kwargs.get("gguf_file"):
        return None
    from transformers.utils.hub import cached_file

    options = ("cache_dir", "token", "revision", "local_files_only", "subfolder")
    try:
        found = cached_file(
            name,
            "tokenizer_config.json",
            **{key: kwargs[key] for key in options if kwargs.get(key) is not None},
            _raise_exceptions_for_gated_repo=False,
            _raise_exceptions_for_missing_entries=False,
            _raise_exceptions_for_connection_errors=False,
        )
    except Exception:
        return None  # transformers will say what is wrong
    return None if found is None else os.path.dirname(found)


class _Messages(logging.Handler):
    """What transformers says while it opens a tokenizer, to be said again when a snapshot stands in for it."""

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
