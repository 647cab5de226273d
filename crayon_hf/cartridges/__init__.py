"""Cartridges on this machine: find one by name, path or bytes, compile it if it is missing, check it."""
