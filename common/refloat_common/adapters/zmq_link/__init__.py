"""The link's frames over ZeroMQ: a pair of DEALER sockets in the executor, a pair of ROUTER sockets in the scheduler.

ZeroMQ is used only as a framed, encrypted pipe that connects again by itself. Everything it may lose is sent again by
the machines in `core.link`.
"""
