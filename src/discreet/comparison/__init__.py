"""Methods compared on the same tables or records: risk, loss and what readers keep."""
