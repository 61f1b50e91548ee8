"""Language models in runs: endpoints, the games that they play, and their transcripts."""
