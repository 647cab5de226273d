"""Readers of other vocabulary formats. Each gives a ``tokenizer.json``, the one form that the compiler reads."""
