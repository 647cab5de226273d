"""``python -m parity.training``: training against the trainers of ``tokenizers`` and CRAYON."""
