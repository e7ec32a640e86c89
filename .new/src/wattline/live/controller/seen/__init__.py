"""What is seen of a machine: jobs and nodes as the resource manager shows them, power as agents say it."""
