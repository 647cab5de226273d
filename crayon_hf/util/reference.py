"""The class of the reference, whatever stands in its place in the package: ``tokenizers.Tokenizer = Tokenizer``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import tokenizers


def reference_class() -> type[tokenizers.Tokenizer]:
    """``tokenizers.Tokenizer`` as the library's own extension has it, of which its package only has the name."""
    import tokenizers

    extension: Any = tokenizers.tokenizers
    found: type[tokenizers.Tokenizer] = extension.Tokenizer
    return found
