"""Steps for datatrove's pipelines: its tokenizers' own files from native encoding, and whole files at full speed.

`CrayonDocumentTokenizer` and `CrayonMegatronDocumentTokenizer` take the place of datatrove's steps of those names in a
pipeline: the documents come from the step before them. `TokenizeShards` begins a pipeline and is all of it: it hands
files to `tokenize_shard`, and no document becomes an object of Python.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from crayon_hf.corpora.formats import FORMATS
from crayon_hf.corpora.job.options import ShardOptions
from crayon_hf.corpora.job.shard import tokenize_shard
from crayon_hf.errors import CorpusError, ProfileNotFoundError, VocabularyError
from crayon_hf.text_readers.documents import format_of
from crayon_hf.util.extras import needed

with needed("crayon_hf.corpora.datatrove", "datatrove"):
    from datatrove.io import DataFolderLike, get_datafolder
    from datatrove.pipeline.base import PipelineStep
    from datatrove.pipeline.tokens import DocumentTokenizer, MegatronDocumentTokenizer
    from datatrove.pipeline.tokens.megatron_tokenizer import MegatronTokenizedFile
    from datatrove.pipeline.tokens.tokenizer import TokenizedFile
    from datatrove.utils.batching import batched
    from datatrove.utils.logging import logger
    from fsspec.core import url_to_fs

if TYPE_CHECKING:
    from datatrove.data import DocumentsPipeline

    from crayon_hf.tokenizer import Tokenizer


class _Native:
    """What the two steps have in common: the tokenizer, and documents in batches that it encodes.

    The tokenizer is opened in the process that uses it: what is pickled for another one is its name.
    """

    tokenizer_name_or_path: str
    eos_token: str | None
    post_processor: Any
    batch_size: int
    token_size: int

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer, with the post-processor that datatrove gives it.

        ValueError when no name was given, or when the vocabulary has no such `eos_token`.
        """
        from crayon_hf.processors import TemplateProcessing

        if not self.tokenizer_name_or_path:
            raise ValueError("tokenizer_name_or_path is empty: name a tokenizer")
        tokenizer = _open(self.tokenizer_name_or_path)
        if self.post_processor:
            tokenizer.post_processor = self.post_processor
        elif self.eos_token:
            eos = tokenizer.token_to_id(self.eos_token)
            if eos is None:
                raise ValueError(f"eos_token is {self.eos_token!r}, which {self.tokenizer_name_or_path} does not have")
            tokenizer.post_processor = TemplateProcessing(single="$A <EOS>", pair=None, special_tokens=[("<EOS>", eos)])
        return tokenizer

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        state.pop("tokenizer", None)
        return state

    @property
    def _cuts_or_pads(self) -> bool:
        """True when the ids are not those of the whole text alone, which only encodings are."""
        return self.tokenizer.truncation is not None or self.tokenizer.padding is not None

    def _encoded(self, data: DocumentsPipeline) -> Iterator[tuple[bytes, npt.NDArray[np.int64]]]:
        """The tokens of each batch, as they are stored, and where in them each document ends (in tokens)."""
        dtype = np.dtype("<u2" if self.token_size == 2 else "<u4")
        threads = _threads()
        for batch in batched(data, self.batch_size):
            with self.track_time(unit="batch"):  # type: ignore[attr-defined]
                texts = [document.text for document in batch]
                if any(
                    isinstance(text, bytes) for text in texts
                ):  # which `encode_ragged` takes, and datatrove does not
                    raise TypeError("the text of a document is bytes, expected str")
                ids, splits = self.tokenizer.encode_ragged(texts, threads=threads)
                if dtype.itemsize == 2 and len(ids) and int(ids.max()) > np.iinfo(dtype).max:
                    raise VocabularyError(
                        f"{self.tokenizer_name_or_path}: id {int(ids.max())} does not fit in the two bytes that "
                        f"datatrove takes for a vocabulary of {self.tokenizer.get_vocab_size()} tokens"
                    )
                yield ids.astype(dtype, copy=False).tobytes(), splits[1:]
                update = self.stats["tokens"].update  # type: ignore[attr-defined]
                for count in np.diff(splits).tolist():
                    update(count, None)


class CrayonDocumentTokenizer(_Native, DocumentTokenizer):  # type: ignore[misc]
    """datatrove's ``DocumentTokenizer``: the same arguments, the same files to the byte, native encoding.

    `tokenizer_name_or_path` is also a profile, a cartridge or any other file that `Tokenizer.from_file` opens. With
    `save_loss_metadata`, and with a tokenizer that truncates or pads, datatrove goes over the encodings one by one, so
    that only the encoding itself is faster.

    docs/clusters.md has examples.
    """

    name = "🖍️ Crayon writer"

    def write_unshuffled(self, data: DocumentsPipeline, filename: str) -> TokenizedFile:
        """Write the documents in their order to `filename`, in the folder from which they are shuffled, if at all."""
        if self.save_loss_metadata or self._cuts_or_pads:
            return super().write_unshuffled(data, filename)
        shuffles = self.shuffle_documents or self.shuffle_chunk_size
        file = TokenizedFile(
            self.local_working_dir if shuffles and self.local_working_dir else self.output_folder,
            filename,
            save_index=self.save_index or shuffles,
            upload_block_size=self.upload_block_size,
            tokenizer_name_or_path=self.tokenizer_name_or_path,
            save_final_metadata=self.save_final_metadata,
            token_size=self.token_size,
        )
        for tokens, ends in self._encoded(data):
            file.write_bytes(tokens, doc_ends=ends.tolist())
        file.close()
        return file


class CrayonMegatronDocumentTokenizer(_Native, MegatronDocumentTokenizer):  # type: ignore[misc]
    """datatrove's ``MegatronDocumentTokenizer``: the same arguments, the same files to the byte, native encoding.

    docs/clusters.md has examples.
    """

    name = "🖍️ Crayon writer"

    def write_tokens(self, data: DocumentsPipeline, filename: str) -> MegatronTokenizedFile:
        """Write the documents in their order to `filename`.bin and .idx."""
        if self._cuts_or_pads:
            return super().write_tokens(data, filename)
        file = MegatronTokenizedFile(
            self.output_folder, filename, upload_block_size=self.upload_block_size, token_size=self.token_size
        )
        for tokens, ends in self._encoded(data):
            file.bin_file.write(tokens)
            file.sequence_lengths.extend(np.diff(ends, prepend=0).tolist())
            file.document_indices.extend(range(len(file.document_indices), len(file.sequence_lengths) + 1))
        file.close()
        return file


class TokenizeShards(PipelineStep):  # type: ignore[misc]
    """Whole files to token files, as `tokenize_shard` makes them: nothing comes from the step before this one.

    Each task takes every ``world_size``-th file of the input, in the order of their names, and writes one output of
    its rank: ``00003.ds``, with `save_filename` ``NAME_00003.ds``. A task that was killed keeps its finished shards
    when it is run again, and ends as if it never had been; one that is run again with other inputs or settings, or
    with another number of tasks, is refused.

    docs/clusters.md has examples.
    """

    name = "🖍️ Crayon shards"
    type = "🔢 - TOKENIZER"

    def __init__(
        self,
        input_folder: DataFolderLike,
        output_folder: DataFolderLike,
        tokenizer_name_or_path: str,
        format: str = "datatrove",
        *,
        glob_pattern: str | None = None,
        recursive: bool = True,
        save_filename: str | None = None,
        **settings: Any,
    ) -> None:
        """Choose the files and say what becomes of them.

        Args:
            input_folder: Where the files are; `glob_pattern` and `recursive` say which, as in datatrove's readers.
                Without a pattern those whose endings `find_inputs` knows (with ``input_format``: all) and that are not
                hidden.
            output_folder: A directory that all machines have in common, or an address of fsspec.
            tokenizer_name_or_path: As `tokenize_shard` takes it.
            format: One of ``crayon_hf.corpora.formats.FORMATS``.
            save_filename: What the names of the files begin with.
            settings: The other arguments of `tokenize_shard`: ``column``, ``append_eos``, ``shuffle``, ... Without
                ``threads`` there are as many as the executor gives a task CPUs.

        Raises:
            TypeError: `tokenize_shard` has no such argument.
            ValueError: There is no such format, or a file system was made with options that its addresses do not tell
                another process.
        """
        super().__init__()
        if format not in FORMATS:
            raise ValueError(f"format is {format!r}, expected one of {', '.join(FORMATS)}")
        self.input_folder = get_datafolder(input_folder)
        self.output_folder = get_datafolder(output_folder)
        for folder in (self.input_folder, self.output_folder):
            address = folder.resolve_paths("")
            if not folder.is_local() and url_to_fs(address)[0] != folder.fs:
                raise ValueError(f"{address}: the file system has options: put them into fsspec's configuration")
        unknown = settings.keys() - ShardOptions.__optional_keys__ - _OTHER_SETTINGS
        if unknown:
            raise TypeError(f"TokenizeShards has no argument {', '.join(sorted(unknown))}")
        self.tokenizer_name_or_path = tokenizer_name_or_path
        self.format = format
        self.glob_pattern, self.recursive = glob_pattern, recursive
        self.save_filename = save_filename
        self.settings = settings

    def run(self, data: DocumentsPipeline = None, rank: int = 0, world_size: int = 1) -> DocumentsPipeline:
        """Tokenize the files of one task. `data` goes on to the next step, untouched."""
        all_files = self.input_folder.list_files(recursive=self.recursive, glob_pattern=self.glob_pattern)
        if not self.glob_pattern:
            all_files = [name for name in all_files if self._is_input(name)]
        if not all_files:
            which = f"that fit {self.glob_pattern!r}" if self.glob_pattern else "with a known ending"
            raise CorpusError(f"no files in {self.input_folder.path}, or none {which}")
        files = all_files[rank::world_size]
        if not files:
            logger.info(f"There are fewer files than tasks, and none for {rank=}.")
            return data
        name = f"{rank:05d}" if self.save_filename is None else f"{self.save_filename}_{rank:05d}"
        with self.track_time(unit="task"):
            summary = tokenize_shard(
                self.input_folder.resolve_paths(files),
                self.output_folder.resolve_paths(name),
                self.format,
                tokenizer=self.tokenizer_name_or_path,
                **{"threads": _threads()} | self.settings,
            )
        counts = summary.counts
        self.stat_update("input_files", value=len(files), unit="task")
        self.stat_update("documents", value=counts.documents, unit="task")
        self.stat_update("tokens", value=counts.tokens, unit="task")
        self.stat_update("bad_records", value=counts.bad_records, unit="task")
        if counts.bad_records:
            logger.warning(f"{counts.bad_records} bad records are listed in {summary.bad_records_file}")
        return data

    def _is_input(self, name: str) -> bool:
        if any(part.startswith(".") for part in name.split("/")):
            return False
        return self.settings.get("input_format") is not None or format_of(name)[0] is not None


_OTHER_SETTINGS = {"batch_bytes", "threads", "overwrite", "progress"}
"""Of `tokenize_shard`, which do not decide the bytes."""


def _open(name: str) -> Tokenizer:
    """What datatrove takes, which is a file or a repository on the Hub, and what this package calls a tokenizer."""
    from crayon_hf.tokenizer import Tokenizer
    from crayon_hf.tokenizer.resolve import open_tokenizer

    try:
        return open_tokenizer(name)
    except FileNotFoundError as error:
        if name.count("/") > 1 or name.endswith((".json", ".dat")):  # no repository
            raise
        missing = str(error)
    try:
        return Tokenizer.from_pretrained(name)
    except OSError as error:  # what the Hub's client raises, among it that it is offline
        raise ProfileNotFoundError(f"{missing}; nor does the Hub give {name!r}: {error}") from error


def _threads() -> int:
    """How many threads an executor gives a task; 0, which is one for each core, where it does not say."""
    given = os.environ.get("DATATROVE_CPUS_PER_TASK", "")
    return int(given) if given.isdecimal() else 0
