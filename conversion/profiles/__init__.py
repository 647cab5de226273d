"""Recipes of the profiles `lite`, `standard` and `science`. docs/profiles.md explains how to repeat them."""
