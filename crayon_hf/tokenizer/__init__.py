"""`Tokenizer`: its methods, the sources that it opens, and its changes."""

from crayon_hf.tokenizer.tokenizer import Tokenizer

__all__ = ["Tokenizer"]
