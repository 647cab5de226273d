"""`Pipeline`: normalize, encode and format texts in the threads of three stages."""

from __future__ import annotations

import queue
import weakref
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any

from crayon_hf.compat_crayon.stages import Failed, Stage, Stages, StageStatistics
from crayon_hf.errors import CrayonError, PipelineClosedError

__all__ = ["Failed", "Pipeline", "PipelineTimeoutError", "StageStatistics"]


class PipelineTimeoutError(CrayonError, TimeoutError, queue.Empty):
    """A call of the pipeline timed out. It is also a ``queue.Empty``, which CRAYON raises."""


class Pipeline:
    """Three stages in threads: ``normalize(text)``, the tokenizer, ``format(key, encoded)``.

    >>> with Pipeline(tokenizer) as pipeline:  # doctest: +SKIP
    ...     for result in pipeline.map(texts):
    ...         ...

    `submit` waits while too many items are in progress. An error in a stage becomes the result of its item, a `Failed`,
    and other items continue. Threads start with the first item and end with `close` or `cancel`.
    """

    def __init__(
        self,
        tokenizer: Any,
        normalize: Callable[[str], str] | None = None,
        format: Callable[[Any, Any], Any] | None = None,
        depth: int = 4,
        workers: int = 1,
        ordered: bool = True,
    ) -> None:
        """Configure the stages.

        Args:
            tokenizer: An object with `encode` (like `Tokenizer`) or `tokenize` (like `CrayonVocab`), or a function of
                a text.
            normalize: A function of a text, called first.
            format: A function of the key and the encoded text. By default it makes a dict of ``id``, ``input_ids`` and
                ``length``.
            depth: How many items may wait before each stage, and how many results may wait for the caller.
            workers: Threads that encode.
            ordered: Give results in the order of the texts.
        """
        encode = getattr(tokenizer, "encode", None) or getattr(tokenizer, "tokenize", None) or tokenizer
        for name, value in (("tokenizer", encode), ("normalize", normalize), ("format", format)):
            if not callable(value) and (value is not None or name == "tokenizer"):
                raise TypeError(f"{name} is {type(value).__name__}, expected a function")
        for name, count in (("depth", depth), ("workers", workers)):
            if type(count) is not int:
                raise TypeError(f"{name} is {type(count).__name__}, expected int")
            if count < 1:
                raise ValueError(f"{name} is {count}, expected 1 or more")
        stages = [
            Stage("encode", lambda _, text: encode(text), workers),
            Stage("format", _record if format is None else format, sorts=ordered),
        ]
        if normalize is not None:
            stages.insert(0, Stage("normalize", lambda _, text: normalize(text)))
        self._stages = Stages(stages, depth)
        self._is_mapping = False
        # The threads refer to the stages, not to the pipeline. Garbage collection of the pipeline tells them to end.
        weakref.finalize(self, self._stages.stop).atexit = False

    # -- items

    def submit(self, key: Hashable, text: str, timeout: float | None = None) -> None:
        """Submit a text; its result will have the `key`. Waits while the queues are full.

        Raises PipelineTimeoutError after `timeout` seconds.
        """
        self._check_no_map()
        if not self._stages.put(key, text, timeout):
            raise PipelineTimeoutError(f"the queues were full for {timeout} seconds: fetch results")

    def get_result(self, timeout: float | None = 10.0) -> Any:
        """The next result: that of `format`, or a `Failed`.

        Raises PipelineTimeoutError after `timeout` seconds, and PipelineClosedError after the last result.
        """
        self._check_no_map()
        try:
            return self._stages.get(timeout)
        except TimeoutError:
            raise PipelineTimeoutError(f"no result within {timeout} seconds") from None

    def results(self) -> Iterator[Any]:
        """All results, until the pipeline is closed and none are left."""
        try:
            while True:
                yield self.get_result(None)
        except PipelineClosedError:
            return

    def __iter__(self) -> Iterator[Any]:
        return self.results()

    def map(self, texts: Iterable[str]) -> Iterator[Any]:
        """Iterate over the results of texts, whose keys are their indices. Texts are read only as queues have room.

        The pipeline must be idle. Results that the caller does not fetch are dropped.
        """
        self._check_idle()
        return self._map(texts)

    def _map(self, texts: Iterable[str]) -> Iterator[Any]:
        self._check_idle()
        self._is_mapping = True
        waiting = 0
        try:
            for key, text in enumerate(texts):
                while not self._stages.put(key, text, 0):
                    yield self._stages.get(None)
                    waiting -= 1
                waiting += 1
            while waiting:
                yield self._stages.get(None)
                waiting -= 1
        finally:
            self._is_mapping = False
            if waiting:
                self._stages.forget()

    def _check_idle(self) -> None:
        self._check_no_map()
        if not self._stages.is_idle:
            raise RuntimeError("map needs an idle pipeline: fetch the results of submitted items first")

    def _check_no_map(self) -> None:
        if self._is_mapping:
            raise RuntimeError("a map is using this pipeline: finish it first")

    # -- life

    @property
    def is_closed(self) -> bool:
        """Whether the pipeline accepts no more items."""
        return self._stages.is_closed

    def close(self) -> None:
        """Finish the submitted items, accept no more, and end the threads. Remaining results can still be fetched."""
        self._stages.close()

    def cancel(self) -> list[Any]:
        """Finish the items that threads work on, and end the threads. Returns the keys of the unfinished items."""
        return self._stages.cancel()

    def stats(self) -> dict[str, StageStatistics]:
        """Statistics of each stage: finished items, failed items, and seconds of work."""
        return self._stages.statistics()

    def __enter__(self) -> Pipeline:
        self.start_pipeline()
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if kind is not None:
            self.cancel()
            return
        try:
            self.close()
        except BaseException:  # an interrupt while `close` waited
            self.cancel()
            raise

    # -- CRAYON's names

    def start_pipeline(self) -> None:
        """Start the threads now. Otherwise the first item starts them."""
        self._stages.start()

    def stop_pipeline(self) -> None:
        """Call `close`."""
        self.close()

    def submit_text(self, text_id: Hashable, text: str) -> None:
        """Call `submit` without a timeout."""
        self.submit(text_id, text)


def _record(key: Any, encoded: Any) -> dict[str, Any]:
    ids = getattr(encoded, "ids", encoded)
    return {"id": key, "input_ids": ids, "length": len(ids)}
