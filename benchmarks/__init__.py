"""Speed and memory, as ratios measured side by side in one run; nothing here is a test."""
