"""Helpers for files, imports, warnings, messages, reports and argument checks, used by all other packages."""
