"""TK4xx: launches, CPU and input pipeline."""
