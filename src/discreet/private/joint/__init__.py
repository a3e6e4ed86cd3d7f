"""Models of data that several owners hold and none of them shows."""
