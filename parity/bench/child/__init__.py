"""What the processes of whole jobs run: kinds of steps beside those of `crayon_hf.parity.speed.child.tasks`.

What an engine occupies is only its own when nothing else was imported, so a script imports one engine.
"""
