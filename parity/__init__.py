"""Suites that compare crayon-hf with reference libraries: ``python -m parity`` lists them."""
