"""From records to cells."""
