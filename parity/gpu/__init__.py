"""A GPU checked against the CPU and measured, in minutes, with a report that survives crashes.

``__main__`` has the run: five steps, each a list of tasks. ``child`` does them in a process of its own, so a crash or a
hang is a result. ``cases`` and ``ids`` compare ids with the CPU's; ``repeats`` tests repeated and concurrent use;
``speed`` measures; ``report`` has the files written.
"""

GROUP = "speed"
