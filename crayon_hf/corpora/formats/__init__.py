"""Formats of token files, each written byte for byte as the tool that reads it writes them.

A writer of a format takes documents as ids and row splits, in any number of calls; its files do not depend on how the
documents were divided among the calls. Its memory is bounded, however many documents there are.
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
"""By name."""

__all__ = ["FORMATS", "Format", "ShardSettings", "ShardWriter", "Vocabulary", "WrittenFile", "remove_leftovers"]
