"""What a file that was made from records, and not of them, still tells of these records."""
