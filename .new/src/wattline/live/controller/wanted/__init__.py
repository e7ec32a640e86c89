"""What is wanted of a machine: caps on their way, job states brought about, and the last word on power."""
