"""The web face: pages that render the API's own schemas, with everything they need beside them."""
