"""Makes the name ``CrayonTokenizerFast`` known to transformers, without importing transformers.

A `tokenizer_config.json` names a class. The stock `AutoTokenizer` looks for it among the classes of the models, and
then in the package itself, which is where we put it, as soon as the module of `AutoTokenizer` is there.
"""

from __future__ import annotations

from crayon_hf.util.import_hooks import when_imported

_NAME = "CrayonTokenizerFast"


def watch() -> None:
    """Register now, or when transformers is imported. Calling it again changes nothing."""
    when_imported("transformers.models.auto.tokenization_auto", "AutoTokenizer", _register)


def _register() -> None:
    """Put the class into the package, where a class is looked for that no model is mapped to."""
    import transformers

    from crayon_hf.transformers.fast import CrayonTokenizerFast

    setattr(transformers, _NAME, CrayonTokenizerFast)
