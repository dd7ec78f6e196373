"""TK3xx: copies and synchronisation."""
