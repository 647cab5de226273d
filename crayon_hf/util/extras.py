"""Optional packages: if one is missing, the error names it and the command that installs it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from importlib import import_module

from crayon_hf.errors import MissingExtraError


@contextlib.contextmanager
def needed(what: str, extra: str, package: str = "") -> Iterator[None]:
    """Around an ``import``: a package that is missing, or broken, is a MissingExtraError.

    `what` begins the message, as in "reading parquet"; `extra` is the one of ours that has the package. One that no
    extra has is installed by the name `package`, and `extra` is empty.

    >>> with needed("reading addresses", "corpora"):
    ...     import fsspec
    """
    try:
        yield
    except MissingExtraError:
        raise
    except ImportError as error:
        module, why = (error.name or package or extra).partition(".")[0], f" ({error})"  # it is there, and broken
        if isinstance(error, ModuleNotFoundError) and error.name == module:
            why = ""
        wanted = f"'crayon-hf[{extra}]'" if extra else package
        message = f"{what} needs {package or module}, which is not installed: pip install {wanted}"
        if why:
            message = f"{what} needs {package or module}, which cannot be imported: pip install {wanted}{why}"
        raise MissingExtraError(message, name=error.name, path=error.path) from error


def need(what: str, extra: str, *packages: str) -> None:
    """`needed` before anything is begun, for packages that are imported later."""
    with needed(what, extra):
        for package in packages:
            import_module(package)
