"""Reading the record back: notes as the index sees them, searches as they were executed."""
