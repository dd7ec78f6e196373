"""What a kernel is, what it could do at best, and what it had to do."""
