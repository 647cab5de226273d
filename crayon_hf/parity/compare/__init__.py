"""Both sides of a comparison, the workers that run them, and what they find."""
