"""``python -m parity.components``: every component and option against the reference, alone and combined."""
