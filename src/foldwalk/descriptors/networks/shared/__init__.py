"""What every kind of network is made of; these files import torch."""
