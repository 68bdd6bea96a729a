"""Checks a host against the rules of `service.contract`, with pytest, which only this package needs.

`pytest --pyargs refloat_scheduler.conformance --host-factory MODULE:NAME`; what a factory is stands in `subject`, and
an example in docs/hosts.md. The plugin itself never imports this.
"""
