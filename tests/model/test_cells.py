from __future__ import annotations

import recurl
from recurl.model.cells import Cells, feature_words, map_letters


def cells(model: recurl.RMDP) -> Cells:
    found = Cells.of(model)
    assert found is not None
    return found


def test_gridworlds_are_known_by_their_features() -> None:
    assert Cells.of(recurl.zoo.cloud()) is None
    assert Cells.of(recurl.zoo.frozen_lake()) is None
    assert cells(recurl.zoo.palindrome(size=4)).shape == (4, 4)
    assert cells(recurl.zoo.spelunking()).shape == (3, 3)


def test_places_of_vertices() -> None:
    model = recurl.zoo.battery()
    grid = cells(model)
    assert grid.place(model.find("reserve.start")) == (0, 0)
    assert grid.place(model.find("unit.charge-r2c0")) == (2, 0)
    assert grid.place(model.find("unit.done")) is None
    assert grid.place(model.find("unit.more.broken")) is None  # a lane, which is over
    assert (0, 3) not in grid.seen()  # a wall


def test_words_name_row_column_and_what_else_differs() -> None:
    model = recurl.zoo.palindrome()
    grid = cells(model)
    assert grid.words(model.find("bottom.r2c0")) == "in row 2, column 0 (phase 0, wrong 0)"
    assert grid.words(model.find("bottom.success")) == "at success"
    product = recurl.zoo.brackets()
    start = int(product.tables.starts[0])
    assert cells(product).words(start).startswith("in row 0, column 0")


def test_other_cells_that_features_name() -> None:
    model = recurl.zoo.palindrome()
    assert cells(model).marks(model.find("bottom.r0c0")) == {"goal": (1, 1)}


def test_features_in_words() -> None:
    values = {"gear": 1.0, "landing_row": 0.0, "landing_column": 2.0, "in back": 0.0, "top x": 1.0}
    assert list(feature_words(values)) == ["gear 1", "landing in row 0, column 2", "top x"]


def test_maps_for_all_components_or_by_name() -> None:
    assert map_letters("ab/cd", "anything")[1, 0] == "c"
    assert map_letters({"x": "ab"}, "x") == {(0, 0): "a", (0, 1): "b"}
    assert map_letters({"x": "ab"}, "y") == {}
    assert map_letters(None, "y") == {}
