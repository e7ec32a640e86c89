"""Choices among futures: what to promise the grid, searched by simulating hours, and what the promise is worth.

``hours`` says what is bid on (``setting``), simulates hours of it (``trial``) and counts them (``outcome``).
``searches`` choose. ``certificate`` tests the choice on other hours, ``across`` on days left out in turn; ``tails``
holds delays against theory.
"""
