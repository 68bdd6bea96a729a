"""The verdict over one failed run: gates, engine, mutations, legacy path, and the explanation of it all."""
