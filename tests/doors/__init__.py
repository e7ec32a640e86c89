"""Everything that numba can do with an array, on arrays that a policy must not write: each is refused or leaves them
alone.
"""
