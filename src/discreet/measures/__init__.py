"""Pure functions from numbers before and after to what changed: utility and risk. No method runs here."""
