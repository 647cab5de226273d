"""Both sides of a comparison, the workers that run them, and the differences that they find."""
