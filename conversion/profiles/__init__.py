"""Recipes of the profiles `lite`, `standard` and `science`. docs/profiles.md explains how to make the profiles
again."""
