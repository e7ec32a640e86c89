"""Wattline: schedule an HPC cluster inside a power envelope, in simulation and on the real machine."""

__version__ = "0.1.0"
