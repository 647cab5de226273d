"""A GPU checked against the CPU and measured, in minutes, with a report that no crash loses.

``command`` is the run: five steps, each a list of tasks. ``watching`` has the tasks done by ``child``, a process of
its own, so that a crash or a hang is a result. ``cases`` and ``ids`` compare ids with the CPU's; ``repeats``,
``with_torch`` and ``memory`` look at what happens beside others; ``speed`` measures; ``report`` and ``markdown`` are
what is written.
"""

GROUP = "speed"
