"""`Tokenizer`: its methods, the functions that open it, and the methods that change it."""

from crayon_hf.tokenizer.tokenizer import Tokenizer

__all__ = ["Tokenizer"]
