"""The parts of a ``tokenizer.json`` as objects, and the document itself as text."""
