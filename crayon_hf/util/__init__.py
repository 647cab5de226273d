"""Helpers independent of tokenizers: files, memory, imports, warnings, argument checks."""
