"""Code of unknown make: reports to numbers, numbers to scores, scores to a choice of the pair and the event.

Reading order: `encoding`, `canonical`, `features`, `counts`, `public_coins`; the scores `ramps`, `empirical_bayes`,
`classifier`, together in `scores`; `choosing`, `two_users`, `target`.
"""
