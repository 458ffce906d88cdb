"""Write the pages of methods, views, data sets, backbones, trainings and stores from their registries.

Run `python docs/generate.py`. The pages are committed; a test compares them with what this program would
write.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from html import escape
from pathlib import Path
from textwrap import dedent
from types import ModuleType

import foldwalk.datasets.features
import foldwalk.stores.types
from foldwalk import datasets, rerank, stores, views
from foldwalk.descriptors import BackboneCard, backbones
from foldwalk.learn import trainings
from foldwalk.learn.sections import Section
from foldwalk.learn.trainer.augment import Augment
from foldwalk.learn.trainer.config import Data, Model
from foldwalk.learn.trainer.settings import TrainingSettings
from foldwalk.rerank.params import Parameter, Params, parameters_of
from foldwalk.rerank.registry import FAMILIES, method_class

DOCS = Path(__file__).resolve().parent
WRITTEN_BY = "<!-- Written by `python docs/generate.py`: change the sources, not this page. -->"
NOTHING = '""'

METHODS_INTRO = """\
Every method has the same interface: `fit`, `rank`, `rank_self`, `rerank`. What they share (the metric, ties,
what a score means, saving) stands in [Conventions](conventions.md). `foldwalk methods NAME` prints the same
cards in a terminal. `plain` is the base line that every other method is compared with.

Numbers of equations and sections are those of the method's own paper, unless another one is named beside
them: the CAS paper is that of `cas`, the GRAD-Net paper that of `gradnet`, Mining on Manifolds that of the
training `mom`.

Figures on the cards: where "the first fifty" of two forms agree by .99, they have 99 % of their first fifty
answers in common, on average over the queries; mAP is in percent. The reference sets (syn1000, orl, grocery)
are those on which the answers of the authors' programs are known.
"""

SHARED_INTRO = """\
These belong to every method and are not repeated below.
"""

COUNTING_INTRO = """\
Papers and programs count neighbours in different ways. Here a count leaves out the item itself and the query,
unless its meaning says "itself counted". Where a gallery has fewer items, a count means all of them.
"""

VIEWS_INTRO = """\
A view shows the vectors of a collection in another way, learned from the collection itself, without labels.
A walk that goes astray in one view does not in another. `foldwalk views` prints this table.

```python
from foldwalk import rerank
from foldwalk.datasets import load

points = load("digits").gallery[:300]
print(rerank.create("cas", views=["raw", "w50"]).fit(points).rank_self(top=5).ids[0])
```

Every method that does not train takes one view or several: `views="raw,w50"`, on the command line `--param
views=raw,w50`. It is then fitted in each, the scores of each query's first 400 are brought to the range
from 0 to 1 in every view, and their mean counts. What no view reaches follows by similarity in the first of
them. Views joined by `+` follow each other (`root+w50`). The methods of the papers have the raw view unless
told otherwise; [`auto`](auto.md) has three.

Views are learned from the items that may be answered, of more than 20,000 from every so many-th; queries
never take part. A zero vector stays zero. Views belong to vectors compared by the cosine: with
`metric="euclidean"`, or with distances instead of vectors, there is the raw view alone. An index
[keeps what they learned](collections.md#what-views-learned) while items come and go.
"""

DATASETS_INTRO = """\
Data sets are read in the layout in which their authors publish them. Nothing is downloaded.
`foldwalk datasets` says which ones are there, `foldwalk datasets NAME` shows one card.

## Where data is looked for

Below one folder, the root: the argument `root` (in a shell `--root`), else the environment variable
`FOLDWALK_DATA`, else `./data`. The lists on this page are relative to it. `*` stands for any
characters, `?` for one, `[012]` for one of these, `(images/)` for a folder `images` that may or may not be
there.

For a set with a class per picture any one line of its list is enough. A set whose list names a ground truth
(`gnd_*`, `*_query.txt`) needs that beside its pictures or vectors. A set with distractors needs both parts.

## What is loaded

A data set is loaded as one of three kinds. `orl:pixels` asks for a kind; without one it is chosen by what is
there, in this order.

| kind | what it is |
|---|---|
| `features` | a feature file from the folder `features/`, and the pictures behind it where they are there |
| `pixels` | raw grey pixels as vectors, for the sets that are searched by them |
| `pictures` | paths and protocol only: vectors are still to be made |

## Data of your own

A name that is not in the list works too, where the root has `features/NAME.npz` (or `NAME_*.npz`, `.npy`,
`.parquet`, `.mat`) or pictures in one folder per class, `images/NAME/CLASS/*.png` (or `.jpg`). The path of a
feature file may stand in place of a name. Such sets are measured leave-one-out, or, where the file holds
queries and their labels, queries against gallery.
"""

STORES_INTRO = """\
A store is where the vectors of a collection live, with their keys, metadata, small pictures and whatever is
derived from them. `Index.create`, `Index.open` and every command take a path or a URL; the scheme of the URL
names the store. `foldwalk stores` prints this table.
"""

ADD_A_STORE = """\
A store is one file or folder below `src/foldwalk/stores/`: a class that inherits `foldwalk.stores.Store` and
stands under the decorator `foldwalk.stores.registry.register`. It sets `name`, `schemes` (those of its URLs),
`summary` and, where it needs more than the core installation, `extra`; packages of an extra are imported when
a store is opened, not before. The registry finds it; the index, the command line, the service, this page and
the contract tests then know it: `tests/contract/test_contract_stores.py` tells whether it keeps what is
promised below. For one that needs a server, `tests/contract/store_hooks.py` gets a line that says how to make
an empty one.
"""

BACKBONES_INTRO = """\
A backbone turns pictures into vectors: `foldwalk index photos/ --backbone NAME`, or `backbone(NAME)` of
`foldwalk.descriptors`. `foldwalk backbones NAME` prints the same cards in a terminal. What they have in
common stands in [Pictures to vectors](descriptors.md).

The package of the default's weights states no licence. One whose licence is clear (Apache-2.0, as its page
says), by one command: `foldwalk index photos/ --backbone hf:facebook/dinov2-small`.
"""

TRAININGS_INTRO = """\
`foldwalk train NAME` runs a training; `foldwalk trainings NAME` prints the same cards in a terminal. What the
trainings are for, and what they bring, stands in [Metric learning](metric-learning.md) and
[GRAD-Net](gradnet.md); [Train on your pictures](train.md) shows the way from a folder to a better search.
"""

SECTIONS_INTRO = """\
All trainings but `gradnet` have their settings in sections: those of a small TOML file (`--config FILE`), or
one by one, `--param training.epochs=5`. A file says only what differs from the defaults; without a SOURCE its
`[data]` names what to train on. These sections belong to all of them; each has one more, which bears
its name, and a file may hold those of several.
"""


def methods_page() -> str:
    """Families, and in them each method: summary, paper, explanation, parameters."""
    cards = [rerank.describe(name) for name in rerank.names()]
    parts = ["# Methods", WRITTEN_BY, METHODS_INTRO]
    parts.append(
        table(
            ("method", "family", "what it does"),
            ([f"[`{c.name}`](#{c.name})", c.family, prose(c.summary)] for c in cards),
        )
    )
    parts += ["## Shared parameters", SHARED_INTRO, parameter_table(parameters_of(Params))]
    parts += ["## How neighbours are counted", COUNTING_INTRO]
    parts.append(
        table(
            ("method", "parameter", "default", "what it counts"),
            (
                [f"`{c.name}`", f"`{p.name}`", str(p.default), prose(p.text)]
                for c in cards
                for p in c.parameters
                if p.neighborhood
            ),
        )
    )
    for family in FAMILIES:
        members = [card for card in cards if card.family == family]
        if members:
            about = importlib.import_module(f"{rerank.__name__}.{family}").__doc__ or ""
            parts += [f"## {family.capitalize()}", prose(about)]
            parts += [method_section(card) for card in members]
    return join(parts)


def method_section(card: rerank.MethodCard) -> str:
    module = sys.modules[method_class(card.name).__module__]
    return join(
        [
            f"### {card.name} {{ #{card.name} }}",
            f"Paper: {prose(card.paper)}. {source(module)}",
            ". ".join(f"{fact}: {'yes' if holds else 'no'}" for fact, holds in card.facts().items()) + ".",
            explanation(module.__doc__ or ""),
            parameter_table([p for p in card.parameters if p not in parameters_of(Params)]),
            *preset_table(card),
        ]
    )


def preset_table(card: rerank.MethodCard) -> list[str]:
    if not card.presets:
        return []
    rows = (
        [f"`{name}`", prose(preset.text), " ".join(f"`{p}={v}`" for p, v in preset.values.items())]
        for name, preset in card.presets.items()
    )
    example = f'`rerank.create("{card.name}", preset="{next(iter(card.presets))}")`'
    return [
        f"Presets, as in {example}; parameters given beside a preset win.",
        table(("preset", "where it comes from", "values"), rows),
    ]


def parameter_table(parameters: Sequence[Parameter]) -> str:
    if not parameters:
        return "It has no parameters of its own."
    return table(
        ("parameter", "default", "range", "meaning"),
        (
            [f"`{p.name}`", f"`{str(p.default) or NOTHING}`", prose(p.range), prose(p.text)]
            for p in parameters
        ),
    )


def datasets_page() -> str:
    """Each data set: what it is, what is looked for, where to get it."""
    cards = [datasets.describe(name) for name in datasets.names()]
    parts = ["# Data sets", WRITTEN_BY, DATASETS_INTRO, "## Feature files"]
    parts += [explanation(foldwalk.datasets.features.__doc__ or ""), "## All data sets"]
    parts.append(
        table(
            ("name", "title", "what"),
            ([f"[`{c.name}`](#{anchor(c.name)})", prose(c.title), prose(c.what)] for c in cards),
        )
    )
    parts += [dataset_section(card) for card in cards]
    return join(parts)


def dataset_section(card: datasets.DatasetCard) -> str:
    parts = [f"### {card.name} {{ #{anchor(card.name)} }}", f"{prose(card.title)}: {prose(card.what)}."]
    if card.layout:
        parts += ["Looked for:", "\n".join(f"- `{place}`" for place in shorten(card.layout))]
        parts.append(f"Get it from: {prose(card.source)}.")
    else:
        parts.append(f"Always there. It comes from {prose(card.source)}.")
    if card.reference != "none":
        parts.append(f"Reference: {prose(card.reference)}.")
    return join(parts)


def views_page() -> str:
    """Each view, and where one more is put."""
    cards = [views.describe(name) for name in views.names()]
    rows = table(("view", "what it shows"), ([f"`{card.name}`", prose(card.summary)] for card in cards))
    return join(
        ["# Views", WRITTEN_BY, VIEWS_INTRO, rows, "[Add a view](add-something.md#a-view) in one file."]
    )


def stores_page() -> str:
    """Each store, and what someone who adds one has to provide."""
    cards = [stores.describe(name) for name in stores.names()]
    parts = ["# Stores", WRITTEN_BY, STORES_INTRO]
    parts.append(
        table(
            ("store", "addresses", "what it is", "needs"),
            (
                [
                    f"`{card.name}`",
                    ", ".join(f"`{scheme}://...`" for scheme in card.schemes),
                    prose(card.summary),
                    f"`foldwalk[{card.extra}]`" if card.extra else "nothing more",
                ]
                for card in cards
            ),
        )
    )
    parts += ["## Add a store", ADD_A_STORE, explanation(sys.modules[stores.Store.__module__].__doc__ or "")]
    for protocol in (stores.Store, stores.Writer):
        parts += [f"### {protocol.__name__}", explanation(protocol.__doc__ or ""), members_table(protocol)]
    parts += ["## What is handed over", types_table(foldwalk.stores.types)]
    return join(parts)


def members_table(protocol: type) -> str:
    """The members of a protocol: arguments, whether they have to be written, what they promise."""
    members = {name: getattr(protocol, name) for name in vars(protocol) if not name.startswith("_")}
    return table(
        ("member", "to provide", "what it does"),
        (
            [
                f"`{name}({', '.join(arguments(function))})`",
                "yes" if getattr(function, "__isabstractmethod__", False) else "",
                one_line(function.__doc__ or ""),
            ]
            for name, function in members.items()
            if callable(function)
        ),
    )


def types_table(module: ModuleType) -> str:
    """The plain types of a module, by their fields."""
    kinds = (
        kind for kind in vars(module).values() if inspect.isclass(kind) and kind.__module__ == module.__name__
    )
    return table(
        ("type", "fields", "what it is"),
        (
            [
                f"`{kind.__name__}`",
                ", ".join(f"`{name}`" for name in arguments(kind)),
                one_line(kind.__doc__ or ""),
            ]
            for kind in kinds
        ),
    )


def arguments(function: Callable[..., object]) -> list[str]:
    given = [p for p in inspect.signature(function).parameters.values() if p.name != "self"]
    return [p.name if p.default is p.empty else f"{p.name}={p.default!r}" for p in given]


def one_line(docstring: str) -> str:
    return prose(" ".join(docstring.split()))


def backbones_page() -> str:
    """Each backbone: how it is named, what it needs, its options."""
    cards = [backbones.describe(name) for name in backbones.names()]
    parts = ["# Backbones", WRITTEN_BY, BACKBONES_INTRO]
    parts.append(
        table(
            ("backbone", "how it is named", "what it is"),
            ([f"[`{c.name}`](#{c.name})", prose(c.named), prose(c.summary)] for c in cards),
        )
    )
    return join([*parts, *map(backbone_section, cards)])


def backbone_section(card: BackboneCard) -> str:
    module = sys.modules[backbones.backbone_class(card.name).__module__]
    needs = f'`pip install -c constraints.txt ".[{card.extra}]"`' if card.extra else "nothing more"
    named = "" if card.example == card.named else f"{prose(card.named)}, for example "
    named += f"`{card.example}`"
    parts = [
        f"### {card.name} {{ #{card.name} }}",
        f"Named: {named}. Needs: {needs}. Dimensions: {prose(card.dimensions)}. {source(module)}",
        explanation(module.__doc__ or ""),
        prose(card.remark),
    ]
    if card.options:
        parts.append(table(("option", "default"), ([f"`{k}`", f"`{v}`"] for k, v in card.options.items())))
    return join(filter(None, parts))


def trainings_page() -> str:
    """The sections of a configuration, and each training: paper, explanation, its own section."""
    cards = [trainings.describe(name) for name in trainings.names()]
    parts = ["# Trainings", WRITTEN_BY, TRAININGS_INTRO]
    parts.append(
        table(
            ("training", "labels", "what it does"),
            (
                [f"[`{c.name}`](#{c.name})", "needed" if c.needs_labels else "none", prose(c.summary)]
                for c in cards
            ),
        )
    )
    parts += ["## The configuration", SECTIONS_INTRO]
    shared: dict[str, type[Section]] = {
        "data": Data,
        "model": Model,
        "training": TrainingSettings,
        "augment": Augment,
    }
    for name, section in shared.items():
        parts += [f"### The section \\[{name}\\] {{ #section-{name} }}"]
        parts += [parameter_table(parameters_of(section))]
    return join([*parts, "## All trainings", *map(training_section, cards)])


def training_section(card: trainings.TrainingCard) -> str:
    module = sys.modules[trainings.training_class(card.name).__module__]
    return join(
        [
            f"### {card.name} {{ #{card.name} }}",
            f"Paper: {prose(card.paper)}. {source(module)}",
            explanation(module.__doc__ or ""),
            f"```console\nfoldwalk train {card.name} {card.usage} --out OUT\n```",
            f"It trains on {prose(card.takes)}. It writes {', '.join(f'`{name}`' for name in card.writes)}.",
            parameter_table(card.parameters),
        ]
    )


def source(module: ModuleType) -> str:
    return f"Source: `{module.__name__.replace('.', '/')}.py`."


def shorten(layout: Sequence[str]) -> list[str]:
    """One entry for a place that is looked for both as it is and below images/."""
    return [
        f"(images/){place}" if f"images/{place}" in layout else place
        for place in layout
        if place.removeprefix("images/") == place or place.removeprefix("images/") not in layout
    ]


def anchor(name: str) -> str:
    return name.replace("+", "-plus-")


def explanation(docstring: str) -> str:
    """A docstring as Markdown: paragraphs as prose, indented lines as the code blocks they are there too."""
    blocks = re.split(r"\n\s*\n", inspect.cleandoc(docstring))
    return join(fenced(block) if block.startswith("    ") else prose(block) for block in blocks)


def fenced(block: str) -> str:
    return f"```text\n{dedent(block)}\n```"


def prose(text: str) -> str:
    """Plain text as Markdown; what stands in backticks stays as it is."""
    pieces = re.split(r"(`+[^`]+`+)", text.strip())
    return "".join(
        p if p.startswith("`") else re.sub(r"([*_\[\]|\\])", r"\\\1", escape(p, False)) for p in pieces
    )


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def join(parts: Iterable[str]) -> str:
    return "\n\n".join(part.strip("\n") for part in parts)


def pages() -> dict[Path, str]:
    """The generated pages and what they should hold."""
    written = {
        "methods": methods_page,
        "views": views_page,
        "datasets": datasets_page,
        "backbones": backbones_page,
        "trainings": trainings_page,
        "stores": stores_page,
    }
    return {DOCS / f"{name}.md": page() + "\n" for name, page in written.items()}


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
        print(f"wrote docs/{path.name}")
