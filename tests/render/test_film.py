"""Do films and sheets show their frames?"""

import numpy as np
import pytest

REASON = 'drawing needs the extra: pip install "drive-env[render]"'
for package in ("cv2", "PIL", "av"):
    pytest.importorskip(package, reason=REASON)

import av
from PIL import Image

from drive_env import CallError, ConfigError
from drive_env.render import colours, contact_sheet, write_picture, write_video

SHADES = (40, 90, 140, 200)


def frames(width=64, height=48, shades=SHADES):
    """Grey pictures, each with its own colour in the upper half."""
    for shade in shades:
        picture = np.full((height, width, 3), shade, np.uint8)
        picture[: height // 2] = (shade, 0, 255 - shade)
        yield picture


def decoded(path):
    with av.open(str(path)) as film:
        stream = film.streams.video[0]
        found = [frame.to_ndarray(format="rgb24") for frame in film.decode(video=0)]
        return found, float(stream.average_rate), stream


@pytest.mark.parametrize("size", [(64, 48), (63, 47)])
def test_an_mp4_has_every_frame_in_order_at_its_rate(tmp_path, size):
    path = tmp_path / "film.mp4"
    assert write_video(frames(*size), path, fps=np.float32(5)) == len(SHADES)
    found, rate, stream = decoded(path)
    data = path.read_bytes()
    assert data.index(b"moov") < data.index(b"mdat")  # a browser can play before the download ends
    assert rate == 5 and stream.codec_context.name == "h264" and stream.codec_context.pix_fmt == "yuv420p"
    assert [frame.shape for frame in found] == [(48, 64, 3)] * len(SHADES)  # even sides, the border repeated
    for frame, shade in zip(found, SHADES, strict=True):
        assert abs(frame[36:46, 5:60].mean() - shade) < 6
        assert np.abs(frame[8, 30].astype(int) - [shade, 0, 255 - shade]).max() < 30


def test_a_gif_has_every_frame_in_order_at_its_rate(tmp_path):
    path = tmp_path / "film.gif"
    assert write_video(frames(), path, fps=np.int64(10)) == len(SHADES)
    with Image.open(path) as film:
        assert film.n_frames == len(SHADES) and film.info["duration"] == 100 and film.info["loop"] == 0
        for number, shade in enumerate(SHADES):
            film.seek(number)
            # A frame has at most 256 colours; the shades are 50 apart.
            assert abs(np.asarray(film.convert("RGB"))[36, 30].mean() - shade) < 20


def test_a_gif_keeps_the_colours_of_states_that_come_late(tmp_path):
    first = np.full((40, 40, 3), colours.LAND, np.uint8)
    late = first.copy()
    late[10:30, 10:30] = colours.STATE_COLOURS[colours.COLLISION]
    write_video([first, late], tmp_path / "film.gif")
    with Image.open(tmp_path / "film.gif") as film:
        film.seek(1)
        picture = np.asarray(film.convert("RGB"))
    assert tuple(picture[20, 20]) == colours.STATE_COLOURS[colours.COLLISION]
    assert np.abs(picture[2, 2].astype(int) - colours.LAND).max() <= 4


@pytest.mark.parametrize("extension", ["mp4", "gif"])
def test_a_function_is_called_until_it_returns_none(tmp_path, extension):
    left = list(frames())
    assert write_video(lambda: left.pop(0) if left else None, tmp_path / f"film.{extension}") == len(SHADES)
    assert left == []


def test_an_invalid_film_is_an_error(tmp_path):
    with pytest.raises(ConfigError, match=r"'film.avi'; it must end in .mp4 or .gif"):
        write_video(frames(), "film.avi")
    with pytest.raises(ConfigError, match="fps is 0; it must be above 0"):
        write_video(frames(), tmp_path / "film.mp4", fps=0)
    with pytest.raises(CallError, match="no frame"):
        write_video([], tmp_path / "film.mp4")
    with pytest.raises(ConfigError, match=r"frame 0 is float64 of shape \(4, 4, 3\); it must be uint8"):
        write_video([np.zeros((4, 4, 3))], tmp_path / "film.mp4")
    with pytest.raises(ConfigError, match=r"frame 1 has shape \(48, 66, 3\); the first one has \(48, 64"):
        write_video([*frames(shades=SHADES[:1]), *frames(width=66)], tmp_path / "film.mp4")


def test_a_sheet_has_the_frames_row_by_row(tmp_path):
    sheet = contact_sheet(list(frames()), columns=3)
    height, width = 48, 64
    gap = (sheet.shape[1] - 3 * width) // 2
    assert sheet.shape == (2 * height + gap, 3 * width + 2 * gap, 3)
    for number, frame in enumerate(frames()):
        top, left = number // 3 * (height + gap), number % 3 * (width + gap)
        assert np.array_equal(sheet[top : top + height, left : left + width], frame)
    write_picture(sheet, tmp_path / "sheet.png")
    with Image.open(tmp_path / "sheet.png") as picture:
        assert np.array_equal(np.asarray(picture), sheet)
    with pytest.raises(CallError, match="no frame"):
        contact_sheet([], columns=3)


def test_a_gif_of_a_still_scene_grows_with_what_moves_alone(tmp_path):
    """20 frames of noise, in which two far corners change, are not much larger than one."""
    still = np.random.default_rng(0).integers(0, 2, (120, 160, 1), np.uint8).repeat(3, axis=2) * 255
    moving = [still.copy() for _ in range(20)]
    for index, frame in enumerate(moving):
        frame[:4, :4], frame[-4:, -4:] = 255 * (index % 2), 255 * ((index + 1) % 2)
    write_video(moving[:1], tmp_path / "one.gif")
    write_video(moving, tmp_path / "all.gif")
    assert (tmp_path / "all.gif").stat().st_size < 3 * (tmp_path / "one.gif").stat().st_size
