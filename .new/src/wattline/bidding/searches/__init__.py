"""Searches for a bid: ours, AQA's, QoSG's, a grid."""
