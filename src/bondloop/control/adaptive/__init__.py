"""Controllers that adapt while the test runs."""
