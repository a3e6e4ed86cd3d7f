"""What all protocols between parties share: randomness, sealed messages, rounds, connections and files."""
