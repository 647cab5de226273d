"""Speed and memory beside other engines, after a comparison of ids.

Every figure comes from a process of its own, so caches are cold in the first pass. Ids are compared before anything is
timed. Rounds are interleaved, so a slow minute of the machine affects all engines alike.
"""

GROUP = "speed"
