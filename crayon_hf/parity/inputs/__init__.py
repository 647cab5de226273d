"""The inputs of a comparison: hostile strings by category, byte strings, tokens, real texts."""
