"""`tokenizers.Tokenizer`: every field of the `Encoding`, windows, decoded texts, and calls without an `Encoding`."""
