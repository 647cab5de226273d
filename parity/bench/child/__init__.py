"""The steps of whole jobs, for processes of `crayon_hf.parity.speed.child.tasks`.

An engine's memory can only be measured if nothing else was imported, so a process imports one engine.
"""
