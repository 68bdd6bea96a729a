"""The ledger: one entry per run, from its lease to the acknowledgement of its end.

`values` are what is journaled, known, told and wanted; `fold` turns records back into entries; `table` says what each
news means in each state, by the functions of `handlers`; `book` holds the entries and runs the table.
"""
