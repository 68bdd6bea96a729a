"""A virtual world for the product: time that jumps, processes that die without a word, chance that repeats.

Everything a process of the product touches has a stand-in here: the loop and its clock (`loop`), processes that can
be killed hard (`process`), chance (`streams`), the network (`network`) and the disk (`disk`). A run is a function of
its seed: the same seed gives the same trace in every interpreter (`run`).
"""
