"""The k-NN graph of a collection: kept up to date row by row, kept with the store, walked for chains."""
