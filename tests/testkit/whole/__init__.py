"""The whole product in virtual time, for tests that follow a job from its submission to its end."""
