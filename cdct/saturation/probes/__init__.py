"""Probes: sets of constraints that one reply can keep (or provably cannot), drawn without bias and with evidence."""
