"""The Hub over the network: its client, and the files of a repository on this machine."""
