"""Steps for datatrove's pipelines: its tokenizer steps with native encoding, and a step that tokenizes whole files.

`CrayonDocumentTokenizer` and `CrayonMegatronDocumentTokenizer` replace datatrove's steps of those names, and write the
same files. `TokenizeShards` is a pipeline of its own: it passes files to `tokenize_shard`, without Python objects for
documents.
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
    """The tokenizer and the encoding of batches, which both of datatrove's tokenizer steps share.

    A pickled step has only the tokenizer's name, so each process opens the tokenizer itself.
    """

    tokenizer_name_or_path: str
    eos_token: str | None
    post_processor: Any
    batch_size: int
    token_size: int

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer, with the post-processor that datatrove gives it.

        Raises:
            ValueError: The name is empty, or the vocabulary lacks `eos_token`.
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
        """Whether the tokenizer truncates or pads. Then datatrove's own code processes an `Encoding` for each text."""
        return self.tokenizer.truncation is not None or self.tokenizer.padding is not None

    def _encoded(self, data: DocumentsPipeline) -> Iterator[tuple[bytes, npt.NDArray[np.int64]]]:
        """For each batch, yield its ids as the bytes to store, and the end of each document, counted in tokens."""
        dtype = np.dtype("<u2" if self.token_size == 2 else "<u4")
        threads = _threads()
        for batch in batched(data, self.batch_size):
            with self.track_time(unit="batch"):  # type: ignore[attr-defined]
                texts = [document.text for document in batch]
                if any(
                    isinstance(text, bytes) for text in texts
                ):  # `encode_ragged` would accept bytes, unlike datatrove
                    raise TypeError("the text of a document is bytes, expected str")
                ids, splits = self.tokenizer.encode_ragged(texts, threads=threads)
                if dtype.itemsize == 2 and len(ids) and int(ids.max()) > np.iinfo(dtype).max:
                    raise VocabularyError(
                        f"{self.tokenizer_name_or_path}: id {int(ids.max())} does not fit in the two bytes that "
                        f"datatrove uses for a vocabulary of {self.tokenizer.get_vocab_size()} tokens"
                    )
                yield ids.astype(dtype, copy=False).tobytes(), splits[1:]
                update = self.stats["tokens"].update  # type: ignore[attr-defined]
                for count in np.diff(splits).tolist():
                    update(count, None)


class CrayonDocumentTokenizer(_Native, DocumentTokenizer):  # type: ignore[misc]
    """datatrove's ``DocumentTokenizer`` with native encoding. It takes the same arguments and writes the same bytes.

    `tokenizer_name_or_path` may also be a profile, a cartridge or any other file that `Tokenizer.from_file` opens. With
    `save_loss_metadata`, or a tokenizer that truncates or pads, datatrove processes the encodings one by one. Then only
    the encoding itself is faster.

    docs/clusters.md has examples.
    """

    name = "🖍️ Crayon writer"

    def write_unshuffled(self, data: DocumentsPipeline, filename: str) -> TokenizedFile:
        """Write the documents in order to `filename`.

        The file goes to the output folder, or to `local_working_dir` if that is set and a shuffle follows.
        """
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
    """datatrove's ``MegatronDocumentTokenizer`` with native encoding. It takes the same arguments and writes the same
    bytes.

    docs/clusters.md has examples.
    """

    name = "🖍️ Crayon writer"

    def write_tokens(self, data: DocumentsPipeline, filename: str) -> MegatronTokenizedFile:
        """Write the documents in order to `filename`.bin and .idx."""
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
    """Tokenizes whole files with `tokenize_shard`. It must be the first step.

    A task takes every ``world_size``-th input file, in the order of their names, and writes the output of its rank:
    ``00003.ds``, or ``NAME_00003.ds`` with `save_filename`. A finished task ends at once when it is run again. It is
    refused with other inputs, settings or another number of tasks.

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
        """Choose the files and the settings.

        Args:
            input_folder: The folder of the files. `glob_pattern` and `recursive` select them as in datatrove's
                readers. Without a pattern, they select the files that are not hidden and have a suffix that
                `find_inputs` knows, or with ``input_format`` any suffix.
            output_folder: A directory that all machines share, or an fsspec address.
            tokenizer_name_or_path: As for `tokenize_shard`.
            format: One of ``crayon_hf.corpora.formats.FORMATS``.
            save_filename: The prefix of the output's file names.
            settings: The other arguments of `tokenize_shard`: ``column``, ``append_eos``, ``shuffle``, ...
                ``threads`` is by default the number of CPUs that the executor gives a task.

        Raises:
            TypeError: `settings` has an argument that `tokenize_shard` lacks.
            ValueError: `format` is unknown, or a file system has options that its addresses cannot pass to another
                process.
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
        """Tokenize the files of one task. `data` passes to the next step unchanged."""
        all_files = self.input_folder.list_files(recursive=self.recursive, glob_pattern=self.glob_pattern)
        if not self.glob_pattern:
            all_files = [name for name in all_files if self._is_input(name)]
        if not all_files:
            which = f"that match {self.glob_pattern!r}" if self.glob_pattern else "with a known ending"
            raise CorpusError(f"no files in {self.input_folder.path}, or none {which}")
        files = all_files[rank::world_size]
        if not files:
            logger.info(f"Fewer files than tasks: nothing to do for {rank=}.")
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
"""Arguments of `tokenize_shard` that do not change the bytes of its output."""


def _open(name: str) -> Tokenizer:
    """Open a tokenizer by a profile's name, or as datatrove does: by a file or by a repository on the Hub."""
    from crayon_hf.tokenizer import Tokenizer
    from crayon_hf.tokenizer.resolve import open_tokenizer

    try:
        return open_tokenizer(name)
    except FileNotFoundError as error:
        if name.count("/") > 1 or name.endswith((".json", ".dat")):  # not the name of a repository
            raise
        missing = str(error)
    try:
        return Tokenizer.from_pretrained(name)
    except OSError as error:  # the errors of the Hub's client, including being offline
        raise ProfileNotFoundError(f"{missing}; nor does the Hub give {name!r}: {error}") from error


def _threads() -> int:
    """The number of threads that the executor gives each task; 0 (all cores) if it sets none."""
    given = os.environ.get("DATATROVE_CPUS_PER_TASK", "")
    return int(given) if given.isdecimal() else 0
