"""``python -m parity.datasets``: whether ``datasets`` finds again what it tokenized, over two runs and random use."""
