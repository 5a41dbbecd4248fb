# SPDX-License-Identifier: Apache-2.0
"""The committed table of the zoo's models: one line a model."""
import json
from pathlib import Path

MANIFEST = Path(__file__).resolve().parents[1] / "manifest.json"
FAMILIES = ["cnn", "detection", "segmentation", "encoder", "decoder", "cached_decoder",
            "language_models", "encoder_decoder", "speech", "recurrent", "diffusion",
            "vision_transformer", "control_flow", "tabular", "signal", "chains"]


def read_manifest() -> list[dict]:
    return json.loads(MANIFEST.read_text()) if MANIFEST.exists() else []


def write_manifest(models: list[dict]) -> None:
    models = sorted(models, key=lambda m: (FAMILIES.index(m["family"]), m["name"]))
    lines = ",\n".join(json.dumps(m) for m in models)
    MANIFEST.write_text(f"[\n{lines}\n]\n")
