"""Context: items are alike when their neighbourhoods are alike."""
