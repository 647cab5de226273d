"""Corpora for training: texts, words and their counts, trained models."""
