"""A GPU checked against the CPU and measured, in minutes, with a report that no crash loses.

``__main__`` is the run: five steps, each a list of tasks, which ``child`` does in a process of its own, so that a
crash or a hang is a result. ``cases`` and ``ids`` compare ids with the CPU's; ``repeats`` looks at what happens beside
others; ``speed`` measures; ``report`` is what is written.
"""

GROUP = "speed"
