"""Does `drive-env convert` write what it read, report the differences, and overwrite nothing?"""

import gzip
import hashlib
import os
import subprocess
import sys

import pytest
from bin_writer import small_file
from command import cells, run

import drive_env
from drive_env.cli import conversion
from drive_env.scenes.readers import source


@pytest.fixture
def bin_file(tmp_path):
    """A small file of another format."""
    path = tmp_path / "small.bin"
    path.write_bytes(small_file())
    return path


def test_a_file_is_converted_and_the_differences_are_reported(bin_file, tmp_path):
    out = tmp_path / "small.drv"
    output = run("convert", str(bin_file), str(out), "--licence", "CC0 1.0", "--dataset", "none")
    assert f"{out}: {out.stat().st_size:,} bytes, 3 objects over 4 frames, 8 roads, licence stated" in output
    assert "imputed: dt_s 0.1, absent from the file: 1" in output
    scene = drive_env.load_scene(out)
    assert scene.source == "small.bin"
    digest = hashlib.sha256(bin_file.read_bytes()).hexdigest()
    assert vars(scene.provenance) == {
        "dataset": "none", "licence": "CC0 1.0", "source_sha256": digest,
        "converter": f"drive-env {drive_env.__version__}"}
    assert scene.report == drive_env.load_scene(bin_file).report


def test_a_converted_file_keeps_its_provenance_when_it_is_converted_again(bin_file, tmp_path):
    first, second = tmp_path / "first.drv", tmp_path / "second.drv"
    run("convert", str(bin_file), str(first), "--licence", "CC0 1.0")
    run("convert", str(first), str(second))
    assert first.read_bytes() == second.read_bytes()
    packed = tmp_path / "packed"
    packed.write_bytes(gzip.compress(first.read_bytes()))
    run("convert", str(packed), str(second), "--force")
    assert first.read_bytes() == second.read_bytes()
    assert cells(run("inspect", str(packed)), "objects.id")[1:3] == ["3", "24"]
    run("convert", str(first), str(first), "--licence", "CC BY 4.0", "--force")
    assert drive_env.load_scene(first).provenance.licence == "CC BY 4.0"
    assert drive_env.load_scene(first).source == "small.bin"


@pytest.mark.parametrize("as_folder", [True, False], ids=["folder", "file"])
def test_a_generators_name_means_the_generator_in_every_command(
        bin_file, tmp_path, monkeypatch, as_folder):
    monkeypatch.chdir(tmp_path)
    if as_folder:
        (tmp_path / "town").mkdir()
    bin_file.rename("town/small.bin" if as_folder else "town")
    file = "./town/small.bin" if as_folder else "./town"
    run("convert", "town", "made.drv", "--seed", "3")
    assert drive_env.load_scene("made.drv").name == "town/3"
    assert cells(run("inspect", "town", "--seed", "3"), "scene") == ["town/3"]
    assert cells(run("inspect", file), "source") == [file]
    bench = ("--worlds", "1", "--threads", "1", "--seconds", "0.05")
    assert "generate_scene('town'" in cells(run("bench", "town", *bench), "scenes")[0]
    assert cells(run("bench", "./town", *bench), "scenes") == ["./town"]
    run("convert", "./town", "folder")
    assert [path.name for path in (tmp_path / "folder").iterdir()] == ["small.drv" if as_folder else "town.drv"]
    assert drive_env.load_scene(next((tmp_path / "folder").iterdir())).objects.count == 3


def test_a_folder_is_converted_into_a_folder_and_other_files_are_reported(bin_file, tmp_path):
    (tmp_path / "more").mkdir()
    for name in ("a.bin", "b.bin", ".hidden"):
        (tmp_path / "more" / name).write_bytes(small_file())
    (tmp_path / "more" / "README.md").write_text("about")
    out = tmp_path / "made" / "here"
    with pytest.raises(drive_env.SceneError, match="1 of 4 files could not be converted"):
        run("convert", str(bin_file), str(tmp_path / "more"), str(out))
    assert sorted(path.name for path in out.iterdir()) == ["a.drv", "b.drv", "small.drv"]


def test_subfolders_are_reported(tmp_path):
    (tmp_path / "deeper").mkdir()
    (tmp_path / "a.bin").write_bytes(small_file())
    output = run("convert", str(tmp_path), str(tmp_path / "out"))
    assert f"{tmp_path.name}: 1 subfolder ignored" in output and "a.drv" in output


def test_an_os_error_of_one_file_is_reported_and_the_others_are_converted(tmp_path, monkeypatch):
    folder = tmp_path / "more"
    folder.mkdir()
    for name in ("a.bin", "b.bin", "c.bin"):
        (folder / name).write_bytes(small_file())
    (folder / "loop").symlink_to(folder / "loop")
    (folder / "nowhere").symlink_to(folder / "that is not there")
    save = conversion.save_scene

    def full_at_b(scene, target, **options):
        if target.name == "b.drv":
            raise OSError(28, "No space left on device", str(target))
        save(scene, target, **options)

    monkeypatch.setattr(conversion, "save_scene", full_at_b)
    with pytest.raises(drive_env.SceneError, match="3 of 5 files could not be converted"):
        run("convert", str(folder), str(tmp_path / "out"))
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["a.drv", "c.drv"]
    with pytest.raises(OSError, match="No space left"):
        run("convert", str(folder / "b.bin"), str(tmp_path / "b.drv"))


def test_no_folder_is_created_if_nothing_can_be_read(tmp_path):
    (tmp_path / "more").mkdir()
    for name in ("README.md", "LICENCE"):
        (tmp_path / "more" / name).write_text("about")
    with pytest.raises(drive_env.SceneError, match="2 of 2 files could not be converted"):
        run("convert", str(tmp_path / "more"), str(tmp_path / "made" / "here"))
    assert [path.name for path in tmp_path.iterdir()] == ["more"]


@pytest.mark.skipif(sys.platform == "win32", reason="file names are text there")
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_a_file_of_any_name_is_converted_and_control_characters_are_escaped(tmp_path, encoding):
    folder = os.fsencode(tmp_path)
    for name in (b"\xffa\x1b[1m.bin", b"\xffb\x1b[1m.txt"):
        with open(folder + b"/" + name, "wb") as file:
            file.write(small_file() if name.endswith(b".bin") else b"about")
    done = subprocess.run([sys.executable, "-m", "drive_env", "convert", folder, folder + b"/out"], check=False,
                          capture_output=True, text=True, env=os.environ | {"PYTHONIOENCODING": encoding})
    assert done.returncode == 1 and "1 of 2 files could not be converted" in done.stderr
    assert "\\udcffa\\x1b[1m.drv: " in done.stdout and "\\udcffb\\x1b[1m.txt: no known format" in done.stderr
    assert "\x1b" not in done.stdout + done.stderr
    scene = drive_env.load_scene(os.fsdecode(folder + b"/out/\xffa\x1b[1m.drv"))
    assert (scene.name, scene.source) == ("\ufffda\ufffd[1m", "\ufffda\ufffd[1m.bin")


def test_nothing_is_overwritten_without_force(bin_file, tmp_path):
    (tmp_path / "out").mkdir()
    taken = tmp_path / "out" / "small.drv"
    taken.write_bytes(b"old")
    with pytest.raises(drive_env.ConfigError, match="exists; nothing is overwritten without --force"):
        run("convert", str(bin_file), "intersection", str(tmp_path / "out"))
    assert [path.read_bytes() for path in (tmp_path / "out").iterdir()] == [b"old"]
    run("convert", str(bin_file), "intersection", str(tmp_path / "out"), "--force", "--agents", "3")
    assert drive_env.load_scene(taken).objects.count == 3


def test_a_generated_scene_becomes_a_file(tmp_path):
    run("convert", "intersection", str(tmp_path / "x.drv"), "--seed", "4", "--agents", "5")
    scene = drive_env.load_scene(tmp_path / "x.drv")
    assert scene.source == "generate_scene('intersection', seed=4, agents=5)"
    assert "no licence stated" in run("convert", "town", str(tmp_path / "y.drv"))


def test_a_licence_may_come_from_a_file(bin_file, tmp_path):
    (tmp_path / "LICENCE").write_bytes("\ufeffTerms:\r\nÖffentlich.\r\n".encode())
    run("convert", str(bin_file), str(tmp_path / "x.drv"), "--licence-file", str(tmp_path / "LICENCE"))
    assert drive_env.load_scene(tmp_path / "x.drv").provenance.licence == "Terms:\nÖffentlich.\n"
    output = run("inspect", str(tmp_path / "x.drv"))
    assert cells(output, "licence") == ["Terms:"]
    assert "Öffentlich." in output


@pytest.mark.parametrize("arguments, sentence", (
    (("small.bin", "small.bin", "out"), "small.bin and small.bin have the same target, out"),
    (("small.bin", "town", "x.drv"), "out is 'x.drv', a file; for a folder or several sources"),
    ((".", "x.drv"), "a file; for a folder or"),
    (("small.bin", "latin"), "out is 'latin', which exists and is no folder; a file to write must end in .drv"),
    (("empty", "out"), "empty: the folder holds no files"),
    (("nowhere", "x.drv"), "nowhere: No such file"),
    (("small.bin", "nowhere/x.drv"), "there is no folder 'nowhere'"),
    (("small.bin", "x.drv", "--licence", "a\x1b[0m"), "metadata licence holds the control character U\\+001B at 1"),
    (("small.bin", "x.drv", "--licence", "a", "--licence-file", "small.bin"), "are both set"),
    (("small.bin", "x.drv", "--licence-file", "latin"), "latin: it is not UTF-8 text"),
))
def test_an_invalid_conversion_is_an_error_and_nothing_is_written(arguments, sentence, bin_file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "latin").write_bytes("Ö".encode("latin-1"))
    before = sorted(tmp_path.iterdir())
    with pytest.raises(drive_env.DriveError, match=sentence):
        run("convert", *arguments)
    assert sorted(tmp_path.iterdir()) == before


def test_inspect_shows_the_sections_of_a_drv(bin_file, tmp_path):
    out = tmp_path / "small.drv"
    run("convert", str(bin_file), str(out))
    output = run("inspect", str(out))
    assert f".drv 1.2, {out.stat().st_size:,} bytes" in output
    assert cells(output, "objects.x_m")[1:3] == ["12", "48"]
    assert cells(output, "converter") == [f"drive-env {drive_env.__version__}"]
    assert cells(output, "licence") == ["not stated"]
    assert ".drv" not in run("inspect", str(bin_file))


def test_inspect_reads_a_file_once(bin_file, tmp_path, monkeypatch):
    """So that the facts of file and scene are consistent, also if the file is replaced meanwhile."""
    out, read = tmp_path / "small.drv", []
    run("convert", str(bin_file), str(out))

    def counted(path, mode):
        read.append(path)
        return open(path, mode)

    monkeypatch.setattr(source, "open", counted, raising=False)
    assert "CRC-32" in run("inspect", str(out))
    assert read == [str(out)]


def test_a_generators_name_that_is_loaded_points_to_the_generator(tmp_path, monkeypatch):
    """Unless there is a file of that name."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(drive_env.SceneError, match=r"^town: there is no file of this name, but a generator: gen"):
        drive_env.load_scene("town")
    drive_env.save_scene(drive_env.generate_scene("highway", agents=2), "a.drv")
    (tmp_path / "a.drv").rename("town")
    assert drive_env.load_scene("town").objects.count == 2
