"""``wattline doctor``: what is wrong with an installation, and what to change, before a machine is led."""
