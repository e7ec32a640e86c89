"""Power telemetry: samples of sensors, cleaned, joined to jobs, and made for tests."""
