"""``wattline telemetry``: look at power samples and join them to jobs."""
