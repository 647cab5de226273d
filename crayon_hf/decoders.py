"""The decoders of ``tokenizers``, and our `DecodeStream`."""

from typing import TYPE_CHECKING

from crayon_hf.tokenizer_json.library_types import names_of

if TYPE_CHECKING:
    from tokenizers.decoders import *  # noqa: F403
else:
    globals().update(names_of("decoders"))

from crayon_hf.decode_stream import DecodeStream as DecodeStream  # type: ignore[assignment]
