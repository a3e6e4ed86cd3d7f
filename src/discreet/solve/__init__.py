"""Linear and integer programs on HiGHS, and exact arithmetic on their answers."""
