"""Recordings of a running Armada, played to Refloat: same jobs, pods and orders, and the events of both compared."""
