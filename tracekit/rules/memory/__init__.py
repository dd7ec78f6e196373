"""TK6xx: memory."""
