"""The awaitable methods of `Tokenizer`. Each runs a method such as `encode` in a thread of the running event loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asyncio import Future

    from crayon_hf import _core


class AsyncMethods:
    """Base of `Tokenizer`: its awaitable methods.

    Each call needs a running event loop, and encodes with the tokenizer's settings at the time of the call.
    """

    __slots__ = ()

    def async_encode(
        self, sequence: Any, pair: Any = None, is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> Future[_core.Encoding]:
        """Awaitable `encode`. Offsets are in characters, as those of `encode`."""
        return self._later("encode", sequence, pair, is_pretokenized, add_special_tokens)

    def async_encode_batch(
        self, input: Sequence[Any], is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> Future[list[_core.Encoding]]:
        """Awaitable `encode_batch`."""
        return self._later("encode_batch", input, is_pretokenized, add_special_tokens)

    def async_encode_batch_fast(
        self, input: Sequence[Any], is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> Future[list[_core.Encoding]]:
        """Awaitable `encode_batch_fast`."""
        return self._later("encode_batch_fast", input, is_pretokenized, add_special_tokens)

    def async_decode_batch(
        self, sequences: Sequence[Sequence[int]], skip_special_tokens: bool = True
    ) -> Future[list[str]]:
        """Awaitable `decode_batch`."""
        return self._later("decode_batch", sequences, skip_special_tokens)

    def _later(self, method: str, *arguments: Any) -> Future[Any]:
        import asyncio

        loop = asyncio.get_running_loop()
        work: Callable[..., Any] = getattr(self._as_it_is(), method)
        return loop.run_in_executor(None, work, *arguments)

    def _as_it_is(self) -> Any:
        raise NotImplementedError
