"""Does a film show a whole scene, readably and in few bytes?"""

import math
from pathlib import Path

import numpy as np
import pytest

REASON = 'drawing needs the extra: pip install "drive-env[render]"'
for package in ("cv2", "PIL"):
    pytest.importorskip(package, reason=REASON)

from PIL import Image

from drive_env import Batch, generate_scene
from drive_env.gallery.cards import cards
from drive_env.gallery.films import FILM_S, FPS, HOLD_S, PIECE_M, film, rows_of
from drive_env.gallery.page import Shown, gallery_page
from drive_env.gallery.scores import counts_of
from drive_env.render.box import box_of
from drive_env.scenes.generate import GENERATORS

FOLDER = Path(__file__).parents[2] / "docs/gallery"


def rows_and_roads(name, **parameters):
    scene = generate_scene(name, **parameters)
    with Batch(scene) as batch:
        return rows_of(scene.roads, box_of(batch.roles[0])), scene.roads


@pytest.mark.parametrize("name", GENERATORS)
def test_the_rows_of_a_film_hold_the_whole_map(name):
    rows, roads = rows_and_roads(name, seed=3)
    inside = [(roads.x_m >= low_x) & (roads.x_m <= high_x) & (roads.y_m >= low_y) & (roads.y_m <= high_y)
              for low_x, low_y, high_x, high_y in rows]
    assert np.any(inside, axis=0).all()
    for before, after in zip(rows[:-1], rows[1:], strict=True):
        assert before[2] == pytest.approx(after[0])
        assert before[2] - before[0] == pytest.approx(after[2] - after[0]) and after[2] - after[0] <= PIECE_M


def test_only_long_roads_are_cut():
    assert len(rows_and_roads("roundabout")[0]) == 1 and len(rows_and_roads("town")[0]) == 1
    assert len(rows_and_roads("highway", length_m=1500.0)[0]) == math.ceil(1512 / PIECE_M)


def test_a_row_is_as_high_as_its_roads():
    """The ramp of an exit is in the last rows; before it, the road is straight."""
    rows, _ = rows_and_roads("exit", exit_after_m=600.0)
    heights_m = [high_y - low_y for _, low_y, _, high_y in rows]
    assert heights_m[0] < 30 < heights_m[-1]


def test_a_film_lasts_as_long_as_it_says_and_shows_every_car_arrive(tmp_path):
    steps = []
    filmed = film(cards()["narrow"], tmp_path / "film.gif", seed=1, width=200,
                  progress=lambda done, most: steps.append((done, most)))
    with Image.open(tmp_path / "film.gif") as frames:
        assert frames.width == 200 and frames.info["duration"] == pytest.approx(1000 / FPS)
        shown = 0
        for index in range(frames.n_frames):
            frames.seek(index)
            shown += frames.info["duration"] / 1000
    # Pillow joins equal frames, so that the film has its duration, and fewer frames.
    assert shown == pytest.approx(filmed.frames / FPS, abs=0.05)
    assert filmed.frames <= (FILM_S + HOLD_S) * FPS + 2
    assert filmed.shown_s / filmed.speed == pytest.approx(filmed.frames / FPS - HOLD_S, abs=0.2)
    assert steps[-1] == (round(filmed.shown_s / 0.1), round(filmed.shown_s / 0.1))


def test_a_tall_map_is_not_a_tall_film(tmp_path):
    card = cards()["procedural"]
    film(card._replace(config=card.config.replace(trial_steps=3)), tmp_path / "film.gif", width=160)
    with Image.open(tmp_path / "film.gif") as frames:
        assert frames.size[0] == 160 and frames.size[1] <= 160


def test_the_page_has_a_film_and_the_facts_of_every_card(tmp_path):
    card = cards()["gates"]
    filmed = film(card, tmp_path / "gates.gif", width=160)
    page = gallery_page([Shown(card, filmed, [counts_of(card, 0)])])
    for text in ('<img src="gates.gif"', card.difficulty, "drive_env.tasks.gates()", "LaneDriver",
                 "optimum with memory: 1/4, 3/4", f"{card.steps} steps"):
        assert text in page
    assert "http" not in page and "<script" not in page


def test_the_films_of_the_docs_are_small():
    films = sorted(FOLDER.glob("*.gif"))
    assert [path.stem for path in films] == sorted(GENERATORS)
    assert sum(path.stat().st_size for path in films) < 6_000_000
