"""Measurements of whole programs (a corpus, a server, a training), each in a process of its own.

Each process imports a single engine, because other imports would add to the engine's memory.
"""
