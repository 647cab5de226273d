"""Which devices there are, and where a tokenizer encodes its batches."""
