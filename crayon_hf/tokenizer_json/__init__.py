"""The parts of a ``tokenizer.json`` as objects, and the document as text."""
