"""The state of a run, declared by subject: ``record`` puts it together, ``layout`` allocates it."""
