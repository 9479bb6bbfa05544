"""Black-box randomizers: reports to numbers, numbers to scores, scores to a choice of the pair and the rule.

Reading order: `encoding`, `folding`, `canonical`, `two_users`, `sampler` (reports); `features`, `bits`, `public_coins`, `counts`
(how often each input shows what); `ramps`, `empirical_bayes`, `classifier`, together in `scores`; `rarer`, `choosing`,
`learning`, `target`; `late`, which is an audit of a callable from end to end.
"""
