"""What a structure does: modes, responses over time and frequency, statics, reduction."""
