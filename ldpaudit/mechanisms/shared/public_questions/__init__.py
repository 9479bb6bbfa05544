"""Each user answers one public question about its value by a randomized sign: sign oracle, hashtogram, trees, Bitstogram, sketches.

Read `public_sign` (the one randomized bit: all privacy is here), `questions` (how users and questions are assigned),
`server_queries` (the counts that decoders ask for) and `deviation` (how far an estimate strays).
"""
