"""The devices of this machine that can encode, and the GPU engines of this build."""
