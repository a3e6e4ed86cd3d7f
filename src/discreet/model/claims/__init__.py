"""What releases claim, in the words that verdicts repeat: one file for each family of methods."""
