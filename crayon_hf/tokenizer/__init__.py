"""The tokenizer: its methods, what it is opened from, and how it changes."""

from crayon_hf.tokenizer.tokenizer import Tokenizer

__all__ = ["Tokenizer"]
