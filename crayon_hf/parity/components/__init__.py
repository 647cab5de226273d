"""``python -m crayon_hf.parity.components``: every component and option against the reference, alone and combined."""
