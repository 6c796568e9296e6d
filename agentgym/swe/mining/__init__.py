"""The miner: turns the merged changes of a clone into instances that were tried in sandboxes."""
