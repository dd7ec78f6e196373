"""Findings and reports, and how they are shown."""
