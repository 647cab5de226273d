"""Classes and types that ``import crayon_hf as tokenizers`` takes from ``tokenizers`` itself."""

from __future__ import annotations

from typing import Any

import tokenizers

from crayon_hf.util.reference import has_components, missing


def __getattr__(name: str) -> Any:
    if has_components():
        return getattr(tokenizers, name)
    if name == "Regex":
        from crayon_hf.tokenizer_json.described import Regex

        return Regex
    return missing("crayon_hf")(name)
