"""What each command does: asks the server and says what came of it."""
