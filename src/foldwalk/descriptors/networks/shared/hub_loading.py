"""A model of transformers, from the hub or a folder, with all that is read beside its weights."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from foldwalk.core.errors import BadInput, FoldwalkError, MissingData, one_line
from foldwalk.core.json_text import read_json_object
from foldwalk.core.text_files import read_text_file
from foldwalk.descriptors.backbones.base import need
from foldwalk.descriptors.networks.shared.hub_maps import HubMaps
from foldwalk.descriptors.networks.shared.hub_preprocessing import from_processor
from foldwalk.descriptors.networks.shared.hub_words import HubWords
from foldwalk.descriptors.networks.shared.network import Network

LONGEST = 2**20  # bytes of a text beside the weights
PURPOSE = "A network of Hugging Face"
PROCESSORS = ("preprocessor_config.json", "processor_config.json")


def load(name: str, place: Path | str) -> Network:
    """The network in a folder (a Path), or of the hub (a str)."""
    said = _processor(name, place)
    model = _model(name, place)
    title = f"hf {type(model).__name__}"  # a folder may be moved, or hold what the hub has
    return Network(
        name,
        HubMaps(model),
        from_processor(said, name),
        title=title,
        licence=_licence(place),
        words=HubWords(model, place) if hasattr(model, "get_text_features") else None,
    )


def _model(name: str, place: Path | str) -> Any:
    library = need("transformers", "hub", PURPOSE)
    try:
        with _quiet(library.utils.logging):
            model, told = library.AutoModel.from_pretrained(
                str(place),
                use_safetensors=True,
                trust_remote_code=False,
                local_files_only=isinstance(place, Path),
                output_loading_info=True,
                dtype="float32",
            )
    except Exception as error:  # odd settings and broken files lead to errors of any kind
        raise _refused(name, place, error) from None
    missing = sorted(key for key in told["missing_keys"] if not _of_pooler(key))
    if missing or told["mismatched_keys"]:
        raise BadInput(f"{name} lacks weights that its config.json speaks of, as {(missing or ['some'])[0]}.")
    return model


def _of_pooler(key: str) -> bool:
    """Classifiers are saved without the pooler of the bare model, which is not looked at here."""
    return "pooler" in key.split(".")


def _refused(name: str, place: Path | str, error: Exception) -> FoldwalkError:
    why = one_line(error)
    if isinstance(place, Path):
        if not (place / "config.json").is_file():
            return MissingData(f"{place} has no config.json: it is no model of transformers.")
        if not any(place.glob("*.safetensors")):
            return BadInput(
                f"{place} has no model.safetensors, and weights in other files are not opened: "
                f"save the model with save_pretrained."
            )
        return BadInput(f"{place} cannot be loaded as a model of transformers: {why}.")
    return MissingData(f"{name} cannot be loaded ({why}); check the name, and that it can be downloaded.")


def _processor(name: str, place: Path | str) -> dict[str, Any]:
    """What the model's image processor was saved with."""
    for file in PROCESSORS:
        path = _file(place, file)
        if path is not None:
            said = read_json_object(read_text_file(path, longest=LONGEST), str(path), finite=True)
            inner = said.get("image_processor", said)
            if isinstance(inner, dict):
                return inner
    if isinstance(place, Path) and not (place / "config.json").is_file():
        raise MissingData(f"{place} has no config.json: it is no model of transformers.")
    raise MissingData(
        f"{name} has no preprocessor_config.json, which says how pictures are prepared: "
        f"save the model's image processor beside it."
    )


def _licence(place: Path | str) -> str:
    """What the head of the model's card states."""
    card = _file(place, "README.md")
    if card is None:
        return ""
    lines = card.read_text("utf-8", errors="replace")[:LONGEST].splitlines()
    head = lines[1 : lines.index("---", 1)] if lines[:1] == ["---"] and "---" in lines[1:] else []
    found = [line.partition(":")[2].strip(" \"'") for line in head if line.startswith("license:")]
    return found[0] if found else ""


def _file(place: Path | str, file: str) -> Path | None:
    if isinstance(place, Path):
        return place / file if (place / file).is_file() else None
    try:
        library = need("transformers", "hub", PURPOSE)
        found = library.utils.cached_file(place, file, _raise_exceptions_for_missing_entries=False)
    except Exception as error:  # the hub fails in many ways
        raise _refused(f"hf:{place}", place, error) from None
    return None if found is None else Path(found)


@contextmanager
def _quiet(log: Any) -> Iterator[None]:
    """Without the library's bars and reports; what matters of them is raised."""
    level, bars = log.get_verbosity(), log.is_progress_bar_enabled()
    log.set_verbosity_error()
    log.disable_progress_bar()
    try:
        yield
    finally:
        log.set_verbosity(level)
        if bars:
            log.enable_progress_bar()
