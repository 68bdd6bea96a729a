"""The suite: one module for each rule of `service.contract`, and one for the meaning of each effect."""
