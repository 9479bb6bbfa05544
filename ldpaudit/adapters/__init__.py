"""Other people's code as samplers: Python callables and objects, external programs, and recorded logs of reports.

`callables` and `objects` (by duck typing: no other library is imported) with `outputs`; `programs` with `talk`
(one JSON line per report); `logs` with `rows` (columns input and report).
"""
