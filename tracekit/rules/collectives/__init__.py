"""TK5xx: collectives and ranks."""
