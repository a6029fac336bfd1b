"""The MCP face: what agents are given, compact unless they ask for more."""
