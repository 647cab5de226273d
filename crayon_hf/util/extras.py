"""Optional packages: the error for a missing one names the package and the command that installs it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from importlib import import_module

from crayon_hf.errors import MissingExtraError


def command(*extras: str) -> str:
    """Return the command that installs this package with extras, from a clone of its repository.

    The package index does not have crayon-hf yet. All messages and cards use this form.
    """
    return f"python -m pip install '.[{','.join(extras)}]'"


def how_to_install(*extras: str) -> str:
    """Return `command` with the directory to run it in, for the end of a message."""
    return f"{command(*extras)} (in a clone of crayon-hf)"


@contextlib.contextmanager
def needed(what: str, extra: str, package: str = "") -> Iterator[None]:
    """Context manager for an ``import``: raises MissingExtraError if the package is missing or broken.

    Args:
        what: The beginning of the message, as in "reading parquet".
        extra: Our extra that has the package, or empty if no extra has it.
        package: The name to install it by, if no extra has it.

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
        why = "is not installed" if is_missing else f"cannot be imported ({error})"  # installed, but broken
        install = how_to_install(extra) if extra else f"python -m pip install {package}"
        message = f"{what} needs {package or module}, which {why}: {install}"
        raise MissingExtraError(message, name=error.name, path=error.path) from error


def need(what: str, extra: str, *packages: str) -> None:
    """Import packages before work that needs them later. If one is missing, raise MissingExtraError like `needed`."""
    with needed(what, extra):
        for package in packages:
            import_module(package)
