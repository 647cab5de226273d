"""What the processes of whole jobs run: scripts that `..watched` starts by their paths.

What an engine occupies is only its own when nothing else was imported, so a script imports one engine.
"""
