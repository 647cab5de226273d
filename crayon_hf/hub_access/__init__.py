"""Access to the Hub over the network, and the files of a repository on this machine."""
