"""Packets on a dragonfly: virtual cut-through, credits, virtual channels, four routings, phase programs.

See docs/network.md.

``jobs`` describes what runs (no numba), ``simulator.run`` and ``simulator.Simulator`` run it, ``offered`` runs
open-loop traffic, ``loads`` computes expected channel loads. The kernels: ``wheel`` (events), ``routing``,
``switch`` (routers), ``nodes``, ``tasks``, ``open_loop``, ``engine`` (the loop) on the arrays of ``state``.
"""
