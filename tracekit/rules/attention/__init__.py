"""TK1xx: attention."""
