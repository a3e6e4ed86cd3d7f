"""Methods that change records before they are tabulated."""
