"""The loop of a test, linearised where it stands: its spectrum, its margins, and why it is unstable."""
