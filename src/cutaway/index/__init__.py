"""The index: SQL store, lexical index, manifest, vectors, and the sync that keeps them true."""
