"""The decoders of ``tokenizers``, and our `DecodeStream`."""

from tokenizers.decoders import *  # noqa: F403

from crayon_hf.decode_stream import DecodeStream as DecodeStream  # type: ignore[assignment]
