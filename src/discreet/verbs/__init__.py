"""What one does with records, tables and releases."""
