"""The independent checker of releases of records: one file for what each method claims."""
