"""The store: objects, versions, watch history and the rules of each verb, pure and without HTTP."""
