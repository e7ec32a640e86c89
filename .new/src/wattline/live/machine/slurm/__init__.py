"""Slurm as the resource manager: by its commands, with jobs held until Wattline releases them to named nodes."""
