"""``wattline configs``: tables of configurations of moldable jobs, and models of them."""
