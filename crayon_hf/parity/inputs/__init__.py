"""The inputs of a comparison: hostile strings by category, byte strings, strings of tokens, and real texts."""
