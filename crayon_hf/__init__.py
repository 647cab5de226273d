"""The same token ids as ``tokenizers`` and ``tiktoken``, many times faster, from the first byte.

>>> import crayon_hf
>>> tokenizer = crayon_hf.Tokenizer.from_profile("lite")
>>> tokenizer.decode(tokenizer.encode("Hello, world!").ids)
'Hello, world!'
"""

from __future__ import annotations

from crayon_hf._core import Encoding, __version__
from crayon_hf.errors import (
    CartridgeError,
    CrayonError,
    DelegatedWarning,
    InvalidUtf8Error,
    ProfileNotFoundError,
    SourceMissingError,
    TokenIdError,
    UnsupportedError,
    VocabularyError,
)
from crayon_hf.tokenizer import Tokenizer

__all__ = [
    "CartridgeError",
    "CrayonError",
    "DelegatedWarning",
    "Encoding",
    "InvalidUtf8Error",
    "ProfileNotFoundError",
    "SourceMissingError",
    "TokenIdError",
    "Tokenizer",
    "UnsupportedError",
    "VocabularyError",
    "__version__",
]
