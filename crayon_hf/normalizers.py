"""The normalizers of ``tokenizers``."""

from typing import TYPE_CHECKING

from crayon_hf.tokenizer_json.library_types import names_of

if TYPE_CHECKING:
    from tokenizers.normalizers import *  # noqa: F403
else:
    globals().update(names_of("normalizers"))
