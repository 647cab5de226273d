"""The page of ``crayon-hf playground`` and of ``crayon-hf inspect --html``: tokens that can be looked at one by one."""
