"""Helpers that know nothing of tokenizers: files, memory, imports, warnings, the checks of arguments."""
