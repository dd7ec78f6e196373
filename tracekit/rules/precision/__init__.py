"""TK2xx: precision and tensor cores."""
