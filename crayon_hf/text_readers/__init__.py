"""Readers of a corpus (files of texts for training and other work): they find its files and read the documents."""
