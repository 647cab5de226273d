"""The reference libraries behind our classes, for tokenizers that the engine does not support."""
