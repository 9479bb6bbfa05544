"""`ldpaudit check`: the gate that fails when a change breaks a claim.

Read `config` ([tool.ldpaudit]), `checking` (each claim of each file, with a verdict), `findings` (what the gate reports,
and what was accepted before), `measuring` (the code under test) and `cache` (answers that need not be computed again).

May import everything but `report` and `commands`.
"""
