"""Reads and writes a ``tokenizer.json``: its components and added tokens as objects, and the whole as text."""
