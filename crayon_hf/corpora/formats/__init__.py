"""Formats of token files, byte for byte as each format's own tool writes them.

A writer takes documents as ids and row splits, in any number of calls. Its files do not depend on how the documents
were divided among the calls, and its memory is bounded.
"""

from __future__ import annotations

from crayon_hf.corpora.formats.base import Format, ShardSettings, ShardWriter, Vocabulary, WrittenFile
from crayon_hf.corpora.formats.columnar import Arrow, Parquet
from crayon_hf.corpora.formats.datatrove import Datatrove
from crayon_hf.corpora.formats.mds import Mds
from crayon_hf.corpora.formats.megatron import Megatron
from crayon_hf.corpora.formats.numpy_arrays import Arrays
from crayon_hf.corpora.formats.output import remove_leftovers

_ALL = (Megatron(), Datatrove(), Arrays("npy"), Arrays("bin"), Parquet(), Arrow(), Mds())
FORMATS: dict[str, Format] = {format.name: format for format in _ALL}
"""The formats by name."""

__all__ = ["FORMATS", "Format", "ShardSettings", "ShardWriter", "Vocabulary", "WrittenFile", "remove_leftovers"]
