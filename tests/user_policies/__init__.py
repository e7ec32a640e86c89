"""Random policies of users, right and wrong: none may crash the process or damage a run."""
