"""What no private protocol can beat: lower-bound calculators, one source a file.

Each function's docstring is the theorem; what it returns encloses the bound, whose lower end may be relied on.
"""
