"""Profiles: vocabularies that ship with the package and are found by name, such as `lite`."""
