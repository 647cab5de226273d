"""Encodings by name: those of OpenAI, and those of plugins."""

from crayon_hf.tiktoken._plugins import (
    ENCODING_CONSTRUCTORS,
    _available_plugin_modules,
    _find_constructors,
    list_encoding_names,
)
from crayon_hf.tiktoken.core import ENCODINGS, Encoding, get_encoding

__all__ = [
    "ENCODINGS",
    "ENCODING_CONSTRUCTORS",
    "Encoding",
    "_available_plugin_modules",
    "_find_constructors",
    "get_encoding",
    "list_encoding_names",
]
