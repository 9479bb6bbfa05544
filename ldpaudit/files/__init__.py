"""What stands on disk, and how it is read and written.

Read `deployment` (the file whose claims are certified), then `toml` (lines and keys for messages), `bundled` (the deployments
that come with ldpaudit), `starter` (what `ldpaudit init` writes), `user_data` (data sets that a study runs on), `reports` (what
users sent) and `whole` (files that are written whole or not at all, and work that goes on after an interruption).

May import the nouns, `core`, `mechanisms`, `adapters`.
"""
