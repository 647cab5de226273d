"""The interactive pages of ``crayon-hf playground`` and ``crayon-hf inspect --html``."""
