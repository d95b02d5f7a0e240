"""What do later trials gain, and through what? Interventions on a policy, and scores of each trial."""
