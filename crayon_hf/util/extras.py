"""Optional packages: if one is missing, the error names it and the command that installs it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from importlib import import_module

from crayon_hf.errors import MissingExtraError


def command(*extras: str) -> str:
    """The command that installs this package with some of its extras, in a clone of its repository.

    The package index does not have crayon-hf yet. All messages and cards have this form.
    """
    return f"python -m pip install '.[{','.join(extras)}]'"


def how_to_install(*extras: str) -> str:
    """`command`, and where it is run: the end of a message."""
    return f"{command(*extras)} (in a clone of crayon-hf)"


@contextlib.contextmanager
def needed(what: str, extra: str, package: str = "") -> Iterator[None]:
    """Around an ``import``: a package that is missing, or broken, is a MissingExtraError.

    `what` begins the message, as in "reading parquet"; `extra` is the one of ours that has the package. One that no
    extra has is installed by the name `package`, and `extra` is empty.

    >>> with needed("reading front matter", "hub"):
    ...     import yaml
    """
    try:
        yield
    except MissingExtraError:
        raise
    except ImportError as error:
        module = (error.name or package or extra).partition(".")[0]
        is_missing = isinstance(error, ModuleNotFoundError) and error.name == module
        why = "is not installed" if is_missing else f"cannot be imported ({error})"  # it is there, and broken
        install = how_to_install(extra) if extra else f"python -m pip install {package}"
        message = f"{what} needs {package or module}, which {why}: {install}"
        raise MissingExtraError(message, name=error.name, path=error.path) from error


def need(what: str, extra: str, *packages: str) -> None:
    """`needed` before anything is begun, for packages that are imported later."""
    with needed(what, extra):
        for package in packages:
            import_module(package)
