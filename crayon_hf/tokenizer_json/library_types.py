"""The names of ``tokenizers`` that crayon_hf offers unchanged, for ``import crayon_hf as tokenizers``."""

from __future__ import annotations

from importlib import import_module
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


def names_of(module: str) -> dict[str, Any]:
    """Return the public names of a module with components, such as ``models``, and their values.

    If ``tokenizers`` 1.0 is installed, which has none, they are the classes of `described`.
    """
    if has_components():
        names = vars(import_module(f"tokenizers.{module}"))
        return {name: value for name, value in names.items() if not name.startswith("_")}
    from crayon_hf.tokenizer_json.described import MODULES

    return MODULES[module] | {"__getattr__": missing(f"crayon_hf.{module}")}
