"""``python -m parity.openings``: the first opening of a tokenizer in a fresh process, beside stock transformers."""

GROUP = "speed"
