"""``python -m crayon_hf.parity.training``: training against the trainers of ``tokenizers`` and CRAYON."""
