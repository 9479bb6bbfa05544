"""What nouns look like in a notebook and on a page: text, numbers and pictures. It knows no noun, so that all may use it.

Reading order: `visible` (text of strangers), `digits` (numbers, rounded outward), `markup` (cards and tables in HTML), `pictures`
(SVG), `axes` (matplotlib).
"""
