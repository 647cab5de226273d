"""Speed and memory beside other engines, after a comparison of ids.

Every figure comes from a process of its own, so that caches are cold in the first pass; ids are compared before
anything is timed; rounds are interleaved, so that a slow minute of the machine hits all engines alike.
"""

GROUP = "speed"
