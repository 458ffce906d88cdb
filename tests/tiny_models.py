"""Tiny models of transformers with random weights, saved to folders as a user would save them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SIDE = 32
PROCESSOR = {
    "do_resize": True,
    "size": {"shortest_edge": 40},
    "do_center_crop": True,
    "crop_size": {"height": SIDE, "width": SIDE},
    "resample": 3,
    "do_rescale": True,
    "rescale_factor": 1 / 255,
    "do_normalize": True,
    "image_mean": [0.5, 0.4, 0.3],
    "image_std": [0.2, 0.25, 0.3],
}
TRANSFORMER: dict[str, Any] = {
    "hidden_size": 16,
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "image_size": SIDE,
    "patch_size": 8,
}
TEXT = {**TRANSFORMER, "vocab_size": 40, "max_position_embeddings": 12, "eos_token_id": 1, "bos_token_id": 0}


def configs() -> dict[str, Any]:
    import transformers as t

    return {
        "resnet": t.ResNetConfig(
            embedding_size=8, hidden_sizes=[8, 12, 16], depths=[1, 1, 2], num_channels=3
        ),
        "convnext": t.ConvNextConfig(hidden_sizes=[8, 12, 16], depths=[1, 1, 2], num_stages=3),
        "dinov2": t.Dinov2Config(**TRANSFORMER),
        "vit": t.ViTConfig(**TRANSFORMER),
        "swin": t.SwinConfig(embed_dim=8, depths=[1, 1], num_heads=[1, 2], window_size=4, image_size=SIDE),
        "clip": t.CLIPConfig(text_config=TEXT, vision_config=TRANSFORMER, projection_dim=10),
    }


FAMILIES = ("resnet", "convnext", "dinov2", "vit", "swin", "clip")


def tiny(family: str, seed: int = 0) -> Any:
    """A model of its own random weights, in evaluation mode; nothing in it is left at zero."""
    import torch
    from transformers import AutoModel

    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = AutoModel.from_config(configs()[family])
        with torch.no_grad():
            for values in model.parameters():
                values.add_(0.05 * torch.randn_like(values))
    return model.eval()


def save(family: str, folder: Path, seed: int = 0, processor: dict[str, Any] | None = None) -> Any:
    """Saves a tiny model with its processor's settings, and gives it."""
    model = tiny(family, seed)
    model.save_pretrained(folder)
    (folder / "preprocessor_config.json").write_text(json.dumps(processor or PROCESSOR))
    return model


def save_tokenizer(folder: Path) -> None:
    """A tokenizer that knows a few words, as CLIP's is built: a mark before and one behind the text."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    words = ["<start>", "<end>", "<unknown>", "a", "red", "blue", "bicycle", "boat", "picture", "of"]
    made = Tokenizer(models.WordLevel({word: place for place, word in enumerate(words)}, "<unknown>"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing(
        single="<start> $A <end>", special_tokens=[("<start>", 0), ("<end>", 1)]
    )
    PreTrainedTokenizerFast(
        tokenizer_object=made,
        bos_token="<start>",
        eos_token="<end>",
        pad_token="<end>",
        unk_token="<unknown>",
    ).save_pretrained(folder)
