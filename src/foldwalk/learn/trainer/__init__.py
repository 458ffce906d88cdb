"""One trainer for all trainings: frozen features with a head, or the last blocks of a network.

It knows none of them by name: `foldwalk.learn.trainings` does. Nothing is imported here, so that
a configuration can be read without torch.
"""
