"""Choices among futures: what to promise the grid, searched by simulating hours, and what the promise is worth.

``setting`` says what is bid on, ``trial`` simulates hours of it, ``outcome`` counts them, ``search`` (and ``aqa``,
``qosg``, ``grid``) choose, ``certificate`` tests the choice on other hours; ``observed`` and ``tails`` keep
the distributions behind it.
"""
