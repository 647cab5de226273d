"""Recipes of the profiles `lite`, `standard` and `science`: docs/profiles.md says how to repeat them."""
