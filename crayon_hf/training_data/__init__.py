"""Prepares training: reads the texts of a corpus, counts their words, checks options, and learns a BPE model."""
