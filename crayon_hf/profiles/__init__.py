"""Profiles: vocabularies that come with the package and are found by name, such as `lite`."""
