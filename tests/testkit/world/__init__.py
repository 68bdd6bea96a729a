"""What a simulated process of the product meets outside itself: a disk, a network, a cluster."""
