"""The decoders of ``tokenizers``, and our `DecodeStream`."""

from typing import TYPE_CHECKING

from crayon_hf.util.reference import has_components, missing

if TYPE_CHECKING or has_components():
    from tokenizers.decoders import *  # noqa: F403
else:
    from crayon_hf.tokenizer_json.described import MODULES

    globals().update(MODULES["decoders"])
    __getattr__ = missing(__name__)

from crayon_hf.decode_stream import DecodeStream as DecodeStream  # type: ignore[assignment]
