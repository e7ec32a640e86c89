"""``wattline trace`` and ``wattline profiles``: job logs, kinds of jobs, power of jobs."""
