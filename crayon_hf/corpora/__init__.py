"""Corpora: from files of text to files of token ids.

`find_inputs` lists the input files. `read_documents` reads one of them as batches of documents.
"""

from __future__ import annotations

from crayon_hf.text_readers.addresses import find_inputs
from crayon_hf.text_readers.documents import BadRecord, Documents, InputFile, Reading
from crayon_hf.text_readers.files import read_documents

__all__ = ["BadRecord", "Documents", "InputFile", "Reading", "find_inputs", "read_documents"]
