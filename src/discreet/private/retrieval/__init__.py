"""Private retrieval: look up a published cell without telling the server which."""
