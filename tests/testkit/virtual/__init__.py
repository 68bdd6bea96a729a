"""Virtual time for the product's coroutines: a loop that jumps, processes that die without a word, chance that repeats.

A run is a function of its seed: the same seed gives the same trace in every interpreter (`run`). What a process meets
outside itself (disk, network, cluster) is in `testkit.world`.
"""
