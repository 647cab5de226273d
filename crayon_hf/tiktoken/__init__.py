"""The interface of the ``tiktoken`` library over our engine: ``from crayon_hf import tiktoken``.

>>> from crayon_hf import tiktoken
>>> encoding = tiktoken.get_encoding("cl100k_base")  # doctest: +SKIP
>>> encoding.decode(encoding.encode("hello world"))  # doctest: +SKIP
'hello world'

The library itself is needed only for ``encode_with_unstable``, ``_educational``, some private methods, and to fetch a
rank file that is not in its cache. It also encodes where one special
token is the beginning of another, and for ranks without all 256 bytes.
"""

from crayon_hf.tiktoken.core import Encoding
from crayon_hf.tiktoken.model import encoding_for_model, encoding_name_for_model
from crayon_hf.tiktoken.registry import get_encoding, list_encoding_names

__all__ = [
    "Encoding",
    "__version__",
    "encoding_for_model",
    "encoding_name_for_model",
    "get_encoding",
    "list_encoding_names",
]

__version__ = "0.14.0"
"""The version of tiktoken whose interface this is."""
