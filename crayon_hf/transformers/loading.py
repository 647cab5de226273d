"""`from_pretrained`, of ours and of the stock `AutoTokenizer`: from a snapshot when there is one, else as stock."""

from __future__ import annotations

import logging
import os
import re
import sys
import threading
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from transformers import PreTrainedTokenizerFast

from crayon_hf.transformers import backend as backends
from crayon_hf.transformers import snapshots
from crayon_hf.transformers.classes import adopt
from crayon_hf.transformers.damage import damage_named
from crayon_hf.util.collector import CollectorPause
from crayon_hf.util.hub_errors import is_unavailable
from crayon_hf.util.reference import reference_class

CARTRIDGE = "tokenizer.dat"
_COMMIT = re.compile(r"/snapshots/([0-9a-f]{40})/(.*)")

_thread = threading.local()
_home: Any = sys.modules[PreTrainedTokenizerFast.__module__]  # which is another one in transformers 4
_plain_init = PreTrainedTokenizerFast.__init__


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
    beside = None if before is None else _cartridge(name, directory, kwargs)
    opens = before is not None and (beside is None or not os.path.isfile(beside))
    outer, _thread.loads, _thread.opens = (is_loading(), getattr(_thread, "opens", False)), True, opens
    with CollectorPause() if directory is not None else nullcontext():  # what is downloaded takes too long for a pause
        try:
            with _Messages() as messages, _Opener(), damage_named(name, directory, kwargs):
                tokenizer = stock(name, *inputs, **kwargs)
        finally:
            _thread.loads, _thread.opens = outer
        if before is None:
            beside = _cartridge(name, directory, kwargs)
        adopted = adopt(tokenizer, beside, keep=before is not None)
        backends.keep_changed(adopted)
        if before is not None and directory and before == snapshots.fingerprint(kind, name, directory, kwargs):
            snapshots.keep(before, adopted, directory, messages.seen)
    return adopted


def is_loading() -> bool:
    """Whether transformers is making a tokenizer in this thread that will be made ours when it is complete."""
    return getattr(_thread, "loads", False)


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
    found = _cached(name, "tokenizer_config.json", kwargs) or _cached(name, "tokenizer.json", kwargs)
    return None if found is None else os.path.dirname(found)


def _cartridge(name: Any, directory: str | None, kwargs: dict[str, Any]) -> str | None:
    """The cartridge that came with the files of a tokenizer, if there is one.

    From the Hub it is asked for at the commit that the other files are of. That a repository has none costs one
    request: the client remembers it for the commit.
    """
    if kwargs.get("gguf_file") or not isinstance(name, (str, os.PathLike)):
        return None
    if directory is None and kwargs.get("force_download") and not os.path.exists(name):
        directory = _repository(os.fspath(name), {**kwargs, "force_download": False})  # it was just loaded anew
    if directory is None:
        return None
    path = os.path.join(directory, CARTRIDGE)
    if os.path.isdir(name) or os.path.isfile(path):
        return path
    found = _COMMIT.search(os.path.join(directory, "").replace(os.sep, "/"))
    if found is None:
        return None
    from huggingface_hub import try_to_load_from_cache

    commit, inside = found.groups()
    known = try_to_load_from_cache(os.fspath(name), f"{inside}{CARTRIDGE}", kwargs.get("cache_dir"), commit)
    if known is not None:  # if not a path, then that there is none
        return known if isinstance(known, str) else None
    return _cached(os.fspath(name), CARTRIDGE, {**kwargs, "revision": commit})


def _cached(name: str, file: str, kwargs: dict[str, Any]) -> str | None:
    """A file of a Hub repository in the client's cache, where it is put if need be; None if it is not to be had."""
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
        return None  # transformers will say what is wrong
    return found


class _Opener:
    """Stands for ``tokenizers.Tokenizer`` in transformers while it opens a tokenizer.

    Where transformers reads a tokenizer.json and changes little of it, ours reads the file instead: the reference would
    take as long as the compiler, and have to write the file again to be compared.
    """

    _lock = threading.Lock()
    _standing = 0
    _stock: Any = None

    def __enter__(self) -> None:
        with _Opener._lock:
            if not _Opener._standing:
                _Opener._stock, _home.TokenizerFast = _home.TokenizerFast, self
            _Opener._standing += 1

    def __exit__(self, *error: object) -> None:
        with _Opener._lock:
            _Opener._standing -= 1
            if not _Opener._standing and isinstance(_home.TokenizerFast, _Opener):
                _home.TokenizerFast = _Opener._stock

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return _Opener._stock(*arguments, **named)

    def __getattr__(self, name: str) -> Any:
        return getattr(_Opener._stock, name)

    def from_file(self, path: str) -> Any:
        """A tokenizer.json, as ours for a class of transformers that builds nothing itself."""
        made = None
        if getattr(_thread, "opens", False) and _Opener._stock is reference_class():
            cls = type(sys._getframe(1).f_locals.get("self"))
            if getattr(cls, "__init__", None) is _plain_init and cls.__module__.startswith("transformers."):
                made = backends.open_source(path)
        return _Opener._stock.from_file(path) if made is None else made


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
