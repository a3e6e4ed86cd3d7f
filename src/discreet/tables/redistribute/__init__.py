"""Maps without small cells: units or value move to cells close by."""
