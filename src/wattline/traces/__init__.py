"""Disk ↔ model: job logs, generators and the journal."""
