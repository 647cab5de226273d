"""Small valid cartridges, from which hostile ones are made. They are compiled from vocabularies that are trained
here."""

from __future__ import annotations

import json
from functools import cache

from crayon_hf import _core
from tests.support.cartridge_cases import compiled, structure
from tests.support.cartridge_text import text_source
from tests.support.stand_in_cases import trained

TEXT = "The quick brown fox; naïve crayon <mask> 12345, \u4e2d\u6587."


@cache
def byte_source() -> bytes:
    """A ``tokenizer.json`` whose cartridge has byte tables with no empty section."""
    return json.dumps(structure(json.loads(trained("byte_level"))), ensure_ascii=False).encode()


def byte_tables() -> bytes:
    """A cartridge of byte tables."""
    return compiled(byte_source())


def text_tables(name: str = "llama_like") -> bytes:
    """A cartridge of some tens of kilobytes, with text tables."""
    return compiled(text_source(name))


KEYS = [(bytes([byte]), byte) for byte in range(256)] + [(b"the", 256), (b" the", 257), (b"quick", 258)]


@cache
def version_2() -> bytes:
    """A cartridge in CRAYON's version 2 format."""
    return _core.write_cartridge_v2(*_core.build_double_array(sorted(KEYS)))
