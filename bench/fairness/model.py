"""The model that is served, with as many positions as the longest request needs."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bench.abuse.models import SHAPES, model_directory

CONFIG = "config.json"


def config(directory: Path) -> dict[str, Any]:
    return json.loads((directory / CONFIG).read_text())


def model_with_positions(name: str, models: Path, positions: int) -> Path:
    """`name` is a shape, or the directory of a model. If that has fewer positions, returns a directory with links to its
    files and another config.json. The weights are random, so that other positions do no harm."""
    source = model_directory(name, models) if name in SHAPES else Path(name).resolve()
    found = config(source)
    if found["max_position_embeddings"] >= positions:
        return source
    directory = models / f"fairness-{source.name}-{positions}"
    directory.mkdir(parents=True, exist_ok=True)
    for file in source.iterdir():
        link = directory / file.name
        if file.name != CONFIG and not link.is_symlink():
            link.symlink_to(file.resolve())
    (directory / CONFIG).write_text(json.dumps(found | {"max_position_embeddings": positions}))
    return directory
