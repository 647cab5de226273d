"""Devices of this machine, and the placement of a tokenizer's batches on them."""
