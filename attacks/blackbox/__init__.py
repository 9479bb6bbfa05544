"""Black-box randomizers: reports to numbers, numbers to scores, scores to a choice of the pair and the rule.

Reading order: `kinds`, `encoding`, `folding`, `canonical`, `sampler` (reports); `features`, `bits`, `public_coins`, `tokens`,
`counts` (how often each input shows what); `weights` (of cells), `scores`, `clues` (what betrayed the inputs); `choosing`,
`learning`, `target`; `late`, which is an audit of a callable from end to end; `canaries`, `one_run`, of a whole system in one run.
"""
