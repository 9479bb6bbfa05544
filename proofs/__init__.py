"""Why: theorems that check themselves."""
