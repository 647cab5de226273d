"""Replace the calls of transformers that open or make a fast tokenizer, so that they return ours."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from crayon_hf.util.import_hooks import no_longer, when_imported
from crayon_hf.util.replacing import Replacement, like


def _auto(seen: Any, place: Replacement) -> Any:
    def from_pretrained(cls: type, pretrained_model_name_or_path: Any, *inputs: Any, **kwargs: Any) -> Any:
        stock = seen.__get__(None, cls)
        if not place.is_wanted:
            return stock(pretrained_model_name_or_path, *inputs, **kwargs)
        from crayon_hf.transformers.auto import open_auto

        return open_auto(stock, pretrained_model_name_or_path, inputs, kwargs)

    return like(seen, from_pretrained)


def _from_pretrained(seen: Any, place: Replacement) -> Any:
    def from_pretrained(cls: type, pretrained_model_name_or_path: Any, *inputs: Any, **kwargs: Any) -> Any:
        if not place.is_wanted:
            return seen.__get__(None, cls)(pretrained_model_name_or_path, *inputs, **kwargs)
        from crayon_hf.transformers.fast import open_class

        return open_class(seen, cls, pretrained_model_name_or_path, inputs, kwargs)

    return like(seen, from_pretrained)


def _init(seen: Any, place: Replacement) -> Any:
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        seen(self, *args, **kwargs)
        if not place.is_wanted:
            return
        from crayon_hf.transformers.fast import adopt_new

        adopt_new(self)

    return like(seen, __init__)


def _decode_stream(seen: Any, place: Replacement) -> Any:
    from crayon_hf.transformers.streams import DecodeStream

    return DecodeStream


class _OfFastClasses(Replacement):
    """Replaces an attribute of the base class of fast tokenizers, whose module has another name in transformers 4."""

    def __init__(self, name: str, make: Callable[[Any, Replacement], Any]) -> None:
        super().__init__("transformers.tokenization_utils_tokenizers", "PreTrainedTokenizerFast", name, make)

    def put(self) -> None:
        self.is_wanted = True
        when_imported("transformers", "__version__", self._choose)

    def take_back(self) -> None:
        no_longer("transformers", self._choose)
        super().take_back()

    def _choose(self) -> None:
        if sys.modules["transformers"].__version__.startswith("4."):
            self.module = "transformers.tokenization_utils_fast"
        super().put()


PLACES = {
    "transformers.AutoTokenizer.from_pretrained": Replacement(
        "transformers.models.auto.tokenization_auto", "AutoTokenizer", "from_pretrained", _auto
    ),
    "transformers.PreTrainedTokenizerFast.from_pretrained": _OfFastClasses("from_pretrained", _from_pretrained),
    "transformers.PreTrainedTokenizerFast": _OfFastClasses("__init__", _init),
    "tokenizers.decoders.DecodeStream": Replacement("tokenizers.decoders", "", "DecodeStream", _decode_stream),
}
