"""CRAYON's interface (``xerv-crayon``) over our engine: `CrayonVocab` and `Pipeline`."""
