"""Pools inside a training loop of pytorch-metric-learning: item ids take the place of labels.

    loader = DataLoader(pictures, batch_sampler=TupleBatches(pools))
    miner = PoolMiner(pools)
    loss = loss_function(embeddings, item_ids, miner(embeddings, item_ids))

Any loss that takes pairs or triplets works, also inside CrossBatchMemory: PML's for its own losses, that of
learn/wrappers.py for ours. `TupleContrastiveLoss` is eq. 7, `TupleTripletLoss` eq. 8. `weighted(loss, pools)`
multiplies what belongs to an anchor and a positive by their weight +W, by way of `PoolWeightReducer`.
"""

from foldwalk.learn.mining.batches import TupleBatches
from foldwalk.learn.mining.pool_miner import PoolMiner
from foldwalk.learn.mining.pool_weights import PoolWeightReducer, weighted
from foldwalk.learn.mining.tuple_losses import TupleContrastiveLoss, TupleTripletLoss

__all__ = [
    "PoolMiner",
    "PoolWeightReducer",
    "TupleBatches",
    "TupleContrastiveLoss",
    "TupleTripletLoss",
    "weighted",
]
