"""The controller of a machine: facts in, one pass a second, wanted caps and job states out, until they are so."""
