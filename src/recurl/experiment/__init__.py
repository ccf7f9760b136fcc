"""Experiments as data: settings, runs, records on disk, and what is made of them.

    settings -> runs (method x seed) -> one record each -> figure, table, report

No figure needs a rerun: everything that people look at is made from the records.
"""
