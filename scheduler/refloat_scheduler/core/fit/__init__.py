"""Which nodes could ever take a pod: what a pod asks for, what nodes have, and the static-fit probe over both."""
