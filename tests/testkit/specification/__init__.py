"""The specification as rows: what each sentence promises, the test that holds it, and a change that breaks it.

`python -m testkit.specification tests | mutants | page`; the rows stand in `tests/spec/rows`.
"""
