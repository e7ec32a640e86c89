"""One section a file, or a folder with its large tables: its keys, checks across them, and what is built of them.

``XSpec`` declares the keys. ``check_x`` yields problems that no key shows alone. ``build_x`` takes the spec, a
``Context`` and what other sections have built. ``add_x`` puts what the section says into the options of a run.

Generators, searches of bids and all that needs numba are imported where they are used: reading a scenario needs none.
"""
