"""The class of the reference, whatever stands in its place in the package: ``tokenizers.Tokenizer = Tokenizer``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crayon_hf.errors import UnsupportedError

if TYPE_CHECKING:
    import tokenizers


def reference_class() -> type[tokenizers.Tokenizer]:
    """``tokenizers.Tokenizer`` as the library's own extension has it, of which its package only has the name."""
    import tokenizers

    extension: Any = tokenizers.tokenizers
    found: type[tokenizers.Tokenizer] = extension.Tokenizer
    return found


def need_components(what: str) -> None:
    """UnsupportedError where the library has no components: from 1.0 on it opens files and encodes, and no more."""
    import tokenizers

    if not hasattr(reference_class(), "from_str"):
        raise UnsupportedError(
            f"{what} takes a class of tokenizers before 1.0, and {tokenizers.__version__} is installed"
        )
