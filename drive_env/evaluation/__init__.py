"""How well does a policy drive? Scores of drives, from recorded poses."""
