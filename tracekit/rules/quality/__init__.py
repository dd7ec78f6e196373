"""TK9xx: trace quality."""
