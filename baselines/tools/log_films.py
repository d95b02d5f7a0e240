"""How do TensorBoard and W&B show the films of evaluators? As animations under tags that stay the same from update to
update."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from drive_env.render import write_video

GIF_WIDTH_PX = 480
"""Width of an animation in TensorBoard, whose log holds every one of them."""


def add_film(writer: Any, tag: str, film: Path, step: int) -> None:
    """Adds a film (.mp4) to TensorBoard as an animated picture, without the package moviepy that `add_video` needs.

    Args:
        writer: a `SummaryWriter`. step: number of agent-steps.
    """
    import av  # with the extra `render`, without which there is no film
    from tensorboard.compat.proto.summary_pb2 import Summary

    with av.open(str(film)) as container, TemporaryDirectory() as folder:
        stream, gif = container.streams.video[0], Path(folder) / "film.gif"
        height_px = round(stream.height * GIF_WIDTH_PX / stream.width)
        frames = (frame.reformat(GIF_WIDTH_PX, height_px).to_ndarray(format="rgb24")
                  for frame in container.decode(stream))
        write_video(frames, gif, fps=float(stream.average_rate))
        picture = Summary.Image(height=height_px, width=GIF_WIDTH_PX, colorspace=3,
                                encoded_image_string=gif.read_bytes())
    writer.file_writer.add_summary(Summary(value=[Summary.Value(tag=tag, image=picture)]), step)


def wandb_media(module: Any, file: Path) -> Any:
    """A film or a replay page as a value for W&B.

    Args:
        module: wandb.
    """
    if file.suffix == ".mp4":
        return module.Video(str(file), format="mp4")
    return module.Html(file.read_text(encoding="utf-8"), inject=False)
