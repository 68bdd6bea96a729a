"""The link between an executor and the scheduler's plugin: frames, and a state machine for each end.

Nothing here does I/O. A pump beside each end hands in what happened (`step`), and carries out the effects that come
back: it sends messages, reads the journal, opens sessions in the store. ZeroMQ loses messages without a word, so both
machines hold on the wire nothing that a journal or a store does not hold as well.
"""
