"""The normalizers of ``tokenizers``."""

from typing import TYPE_CHECKING

from crayon_hf.util.reference import has_components, missing

if TYPE_CHECKING or has_components():
    from tokenizers.normalizers import *  # noqa: F403
else:
    from crayon_hf.tokenizer_json.described import MODULES

    globals().update(MODULES["normalizers"])
    __getattr__ = missing(__name__)
