"""How the ranks divide weights and tokens."""
