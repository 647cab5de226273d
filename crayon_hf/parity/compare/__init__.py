"""Runs crayon_hf and a reference library on the same inputs, in worker processes, and reports their differences."""
