"""The ``tokenizers`` library (the reference): its own class ``Tokenizer``, and whether it has component classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from crayon_hf import _core
from crayon_hf.errors import UnsupportedError

if TYPE_CHECKING:
    import tokenizers


def reference_class() -> type[tokenizers.Tokenizer]:
    """Return the library's own class ``Tokenizer``, even if a program has replaced ``tokenizers.Tokenizer``."""
    import tokenizers

    extension: Any = tokenizers.tokenizers
    found: type[tokenizers.Tokenizer] = extension.Tokenizer
    return found


def is_reference(tokenizer: Any) -> bool:
    """Whether a tokenizer is the library's, unlike `isinstance`, which is true for ours, too."""
    return issubclass(type(tokenizer), reference_class())


def has_components() -> bool:
    """Whether the library has classes of components, such as models. From 1.0 on it only opens files and encodes."""
    return hasattr(reference_class(), "from_str")


def exact_json_of(tokenizer: tokenizers.Tokenizer) -> bytes:
    """Return the ``tokenizer.json`` of the library's tokenizer, with exact scores.

    Raise UnsupportedError if a component is written in Python.
    """
    try:
        json = tokenizer.to_str().encode()
    except AttributeError:
        need_components("from_tokenizers")
        raise TypeError(f"reference is {type(tokenizer).__name__}, expected tokenizers.Tokenizer") from None
    except Exception as error:  # the library raises Exception itself
        raise UnsupportedError(f"the tokenizer cannot be written: {error}") from error
    return _core.with_exact_scores(json)


def missing(module: str) -> Callable[[str], Any]:
    """Return a ``__getattr__`` for our module `module`, whose error says which version of the library has the name."""

    def find(name: str) -> Any:
        import tokenizers

        wanted = (
            ""
            if name.startswith("__")
            else f": it needs tokenizers before 1.0, but {tokenizers.__version__} is installed"
        )
        raise AttributeError(f"module {module!r} has no attribute {name!r}{wanted}")

    return find


def need_components(what: str) -> None:
    """Raise UnsupportedError if the library has no component classes, which the work `what` needs."""
    import tokenizers

    if not has_components():
        raise UnsupportedError(f"{what} needs tokenizers before 1.0, but {tokenizers.__version__} is installed")
