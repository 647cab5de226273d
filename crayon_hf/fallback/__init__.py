"""The reference libraries behind crayon_hf's classes, for tokenizers that the engine does not support."""
