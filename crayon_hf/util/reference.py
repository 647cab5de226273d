"""The library's own class, even if a program has replaced it: ``tokenizers.Tokenizer = Tokenizer``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from crayon_hf.errors import UnsupportedError

if TYPE_CHECKING:
    import tokenizers


def reference_class() -> type[tokenizers.Tokenizer]:
    """Return ``tokenizers.Tokenizer`` of the library's extension module; programs may replace the name in its
    package."""
    import tokenizers

    extension: Any = tokenizers.tokenizers
    found: type[tokenizers.Tokenizer] = extension.Tokenizer
    return found


def has_components() -> bool:
    """Whether the library has components. From 1.0 on it only opens files and encodes."""
    return hasattr(reference_class(), "from_str")


def missing(module: str) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a module with names of the library. Its error says which version has the name."""

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
    """Raise UnsupportedError if the library has no components."""
    import tokenizers

    if not has_components():
        raise UnsupportedError(f"{what} needs tokenizers before 1.0, but {tokenizers.__version__} is installed")
