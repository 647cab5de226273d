"""Reports of finished token files as text and JSON: counts, lengths, scripts, frequent and unused tokens."""
