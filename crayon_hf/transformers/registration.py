"""Makes the name ``CrayonTokenizerFast`` known to transformers, without importing transformers.

A `tokenizer_config.json` names a class. The stock `AutoTokenizer` looks for that class among the classes of the models,
then in the package ``transformers`` itself. `watch` adds our class to that package once `AutoTokenizer`'s module is
imported.
"""

from __future__ import annotations

from crayon_hf.util.import_hooks import when_imported

_NAME = "CrayonTokenizerFast"


def watch() -> None:
    """Register our class now, or when transformers is imported. Idempotent."""
    when_imported("transformers.models.auto.tokenization_auto", "AutoTokenizer", _register)


def _register() -> None:
    """Add our class to the package ``transformers``, where `AutoTokenizer` finds classes that belong to no model."""
    import transformers

    from crayon_hf.transformers.fast import CrayonTokenizerFast

    setattr(transformers, _NAME, CrayonTokenizerFast)
