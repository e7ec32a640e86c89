"""From jobs, machine, policies and options to a state that is ready, with policies bound to it: for both worlds."""
