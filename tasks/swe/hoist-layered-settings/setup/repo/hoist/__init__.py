"""Plans which artifacts go to which hosts."""
