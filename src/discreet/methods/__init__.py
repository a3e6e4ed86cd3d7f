"""What a method is: parameters, what it needs and claims, and what acts on tables and what on records."""
