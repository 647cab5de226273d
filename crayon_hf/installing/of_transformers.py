"""What opens or makes a fast tokenizer in transformers: it gives ours."""

from __future__ import annotations

import sys
from typing import Any

from crayon_hf.util.import_hooks import no_longer, when_imported
from crayon_hf.util.replacing import Replacement, like


def _auto(seen: Any) -> Any:
    def from_pretrained(cls: type, pretrained_model_name_or_path: Any, *inputs: Any, **kwargs: Any) -> Any:
        from crayon_hf.transformers_face.auto import open_auto

        return open_auto(pretrained_model_name_or_path, *inputs, **kwargs)

    return like(seen, from_pretrained)


def _from_pretrained(seen: Any) -> Any:
    def from_pretrained(cls: type, pretrained_model_name_or_path: Any, *inputs: Any, **kwargs: Any) -> Any:
        from crayon_hf.transformers_face.fast import open_class

        return open_class(seen.__get__(None, cls), cls, pretrained_model_name_or_path, inputs, kwargs)

    return like(seen, from_pretrained)


def _init(seen: Any) -> Any:
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        seen(self, *args, **kwargs)
        from crayon_hf.transformers_face.fast import adopt_new

        adopt_new(self)

    return like(seen, __init__)


def _decode_stream(seen: Any) -> Any:
    from crayon_hf.transformers_face.streams import DecodeStream

    return DecodeStream


_AUTO = Replacement("transformers.models.auto.tokenization_auto", "AutoTokenizer", "from_pretrained", _auto)
_STREAM = Replacement("tokenizers.decoders", "", "DecodeStream", _decode_stream)
_PLACES = {
    "transformers.AutoTokenizer.from_pretrained": _AUTO,
    "tokenizers.decoders.DecodeStream": _STREAM,
}
# The base of all fast classes is in another module in transformers 4.
_FAST = {
    module: {
        "transformers.PreTrainedTokenizerFast.from_pretrained": Replacement(
            module, "PreTrainedTokenizerFast", "from_pretrained", _from_pretrained
        ),
        "transformers.PreTrainedTokenizerFast.__init__": Replacement(
            module, "PreTrainedTokenizerFast", "__init__", _init
        ),
    }
    for module in ("transformers.tokenization_utils_tokenizers", "transformers.tokenization_utils_fast")
}


def put() -> None:
    """Now, or as the modules are imported."""
    for place in _PLACES.values():
        place.put()
    when_imported("transformers", "__version__", _put_fast)


def take_back() -> None:
    """Undo `put`."""
    no_longer("transformers", _put_fast)
    for place in (*_PLACES.values(), *(place for places in _FAST.values() for place in places.values())):
        place.take_back()


def states() -> dict[str, str]:
    """How far each place is."""
    return {name: place.state() for name, place in (_PLACES | _fast()).items()}


def _fast() -> dict[str, Replacement]:
    new, old = _FAST.values()
    return old if getattr(sys.modules.get("transformers"), "__version__", "5").startswith("4.") else new


def _put_fast() -> None:
    for place in _fast().values():
        place.put()
