"""The steps of whole jobs, for processes of `crayon_hf.parity.speed.child.tasks`.

Each process imports a single engine, because other imports would add to the engine's memory.
"""
