"""Many traces at once."""
