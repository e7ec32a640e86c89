"""How the live system is seen from outside: metrics, logs, a status in the terminal, a dashboard."""
