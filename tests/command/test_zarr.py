"""OME-Zarr and plain Zarr: what zarr-python and TensorStore write is read, and they read what is written."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from conftest import PROGRAM, assert_one_line, contents, good, load, lobule, refused, save, scan_array

zarr = pytest.importorskip("zarr", minversion="3.0")
FEWER = 3 if os.environ.get("LOBULE_SANITIZED") else 1  # every so many of a list
AFFINE = np.array([[-0.7, 0, 0, 30], [0, 0, 1.5, -20], [0, 0.7, 0, 5], [0, 0, 0, 1.0]])
SHAPE = (19, 23, 31)


def voxels(dtype, shape=SHAPE, seed=0):
    """Numbers in the order z y x, zero in the first planes."""
    array = (np.random.default_rng(seed).random(shape) * 100).astype(dtype)
    array[:5] = 0
    return array


def read(folder, name, *options):
    """Voxels as z y x, by way of NIfTI."""
    good("convert", name, "read.nii", "--force", *options, cwd=folder)
    return load(folder / "read.nii").T


def image(folder, array, axes="zyx", scale=None, unit="micrometer", version="0.5", shift=None, **how):
    """An image of two levels, as OME-NGFF has them."""
    zarr_format = 3 if version == "0.5" else 2
    group = zarr.open_group(str(folder), mode="w", zarr_format=zarr_format)
    scale = scale or [1.0] * len(axes)
    datasets = []
    for level in range(2):
        part = array[..., :: 2**level, :: 2**level]
        group.create_array(str(level), shape=part.shape, dtype=part.dtype, **how)[...] = part
        sizes = [s * 2**level if a in "yx" else s for s, a in zip(scale, axes)]
        transforms = [{"type": "scale", "scale": sizes}]
        if shift:
            transforms.append({"type": "translation", "translation": shift})
        datasets.append({"path": str(level), "coordinateTransformations": transforms})
    types = {"t": {"type": "time"}, "c": {"type": "channel"}}
    names = [{"name": a, **types.get(a, {"type": "space", "unit": unit})} for a in axes]
    multiscales = [{"axes": names, "datasets": datasets, "name": "image", "version": version}]
    if version == "0.5":
        group.attrs["ome"] = {"version": version, "multiscales": multiscales}
    else:
        group.attrs["multiscales"] = multiscales
    return group


# ---- what others write --------------------------------------------------------------------------


def v2_compressors():
    from numcodecs import Blosc, GZip, Zlib, Zstd

    return [None, Zlib(3), GZip(3), Zstd(3), Blosc("lz4", shuffle=1), Blosc("zstd", shuffle=2), Blosc("blosclz")]


@pytest.mark.parametrize("dtype", ["u1", "i1", "<u2", ">u2", "<i2", ">i4", "<u4", "<f4", ">f8", "<i8", "<u8", "b1"][::FEWER])
def test_version_2(tmp_path, dtype):
    for number, compressor in enumerate(v2_compressors()):
        array = voxels(dtype, seed=number)
        keys = {"name": "v2", "separator": "./"[number % 2]}
        shutil.rmtree(tmp_path / "a.zarr", ignore_errors=True)
        zarr.create_array(
            str(tmp_path / "a.zarr"), shape=SHAPE, dtype=array.dtype, chunks=(7, 9, 31), compressors=compressor, zarr_format=2, chunk_key_encoding=keys
        )[...] = array
        got = read(tmp_path, "a.zarr")
        assert np.array_equal(got, array) and got.dtype == array.astype("u1" if dtype == "b1" else array.dtype.newbyteorder("=")).dtype


@pytest.mark.parametrize("shards", [None, (14, 18, 62)])
@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "uint64", "bool"][::FEWER])
def test_version_3(tmp_path, dtype, shards):
    from zarr.codecs import BloscCodec, BytesCodec, Crc32cCodec, GzipCodec, ZstdCodec

    chains = [[], [GzipCodec()], [ZstdCodec()], [BloscCodec(cname="lz4")], [Crc32cCodec()], [ZstdCodec(), Crc32cCodec()]]
    for number, chain in enumerate(chains):
        array = voxels(dtype, seed=number)
        shutil.rmtree(tmp_path / "a.zarr", ignore_errors=True)
        serializer = BytesCodec(endian=("little", "big")[number % 2])
        zarr.create_array(
            str(tmp_path / "a.zarr"), shape=SHAPE, dtype=dtype, chunks=(7, 9, 31), shards=shards, compressors=chain, serializer=serializer
        )[...] = array
        assert np.array_equal(read(tmp_path, "a.zarr"), array)


@pytest.mark.parametrize("fill", [0, 7, -3, 2.5, float("nan"), float("inf")])
def test_missing_chunks_have_the_fill_value(tmp_path, fill):
    for zarr_format in (2, 3):
        name = f"{zarr_format}.zarr"
        array = zarr.create_array(str(tmp_path / name), shape=SHAPE, dtype="float32", chunks=(8, 8, 8), fill_value=fill, zarr_format=zarr_format)
        array[3:9] = 1
        assert np.array_equal(read(tmp_path, name), array[...], equal_nan=True)


def test_tensorstore_writes_and_reads(tmp_path):
    tensorstore = pytest.importorskip("tensorstore")
    sharding = {
        "name": "sharding_indexed",
        "configuration": {
            "chunk_shape": [8, 8, 8],
            "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "blosc", "configuration": {"cname": "zstd", "shuffle": "bitshuffle"}}],
            "index_location": "start",
        },
    }
    spec = {
        "driver": "zarr3",
        "kvstore": {"driver": "file", "path": str(tmp_path / "t.zarr") + "/"},
        "metadata": {
            "shape": SHAPE, "data_type": "uint16", "codecs": [sharding],
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [16, 16, 32]}},
        },
    }  # fmt: skip
    array = voxels("uint16")
    store = tensorstore.open(spec, create=True).result()
    store[...].write(array).result()
    assert np.array_equal(read(tmp_path, "t.zarr"), array)
    good("convert", "read.nii", "ours.ome.zarr", cwd=tmp_path)
    ours = tensorstore.open({"driver": "zarr3", "kvstore": {"driver": "file", "path": str(tmp_path / "ours.ome.zarr/0") + "/"}}).result()
    assert np.array_equal(ours.read().result(), array)


@pytest.mark.parametrize("version", ["0.4", "0.5"])
def test_images(tmp_path, version):
    array = voxels("uint16", (2, *SHAPE))
    image(tmp_path / "a.ome.zarr", array, "czyx", [1, 2.0, 0.5, 0.5], version=version, shift=[0, 4.0, 0, 1.0], chunks=(1, 8, 8, 8))
    about = json.loads(good("info", "a.ome.zarr", "--json", cwd=tmp_path).stdout)
    assert about["format"] == "OME-Zarr" and about["dims"] == [31, 23, 19] and about["channels"] == 2
    assert about["spacing_mm"] == [0.0005, 0.0005, 0.002] and about["orientation"] == "unknown"
    assert [row[3] for row in about["affine"]] == [0.001, 0, 0.004]
    assert np.array_equal(np.squeeze(read(tmp_path, "a.ome.zarr")), array)
    for way in ("a.ome.zarr/1", "a.ome.zarr:/1", "a.ome.zarr/1/"):
        level = json.loads(good("info", way, "--json", cwd=tmp_path).stdout)
        assert level["dims"] == [16, 12, 19] and level["spacing_mm"] == [0.001, 0.001, 0.002]
    assert np.array_equal(np.squeeze(read(tmp_path, "a.ome.zarr/1")), array[:, :, ::2, ::2])


def test_frames(tmp_path):
    array = voxels("uint8", (3, *SHAPE))
    image(tmp_path / "a.zarr", array, "tzyx", chunks=(1, 8, 8, 8))
    assert_one_line(lobule("threshold", "a.zarr", "-o", "m.nii", "--above", "3", cwd=tmp_path), 65, "a.zarr", "has 3 frames")
    assert np.array_equal(read(tmp_path, "a.zarr", "--frame", "2"), array[2])


def test_a_slice(tmp_path):
    array = voxels("uint8", (40, 50))
    image(tmp_path / "a.zarr", array, "yx", [0.5, 0.5])
    assert np.array_equal(read(tmp_path, "a.zarr")[0], array)


def test_several_images_are_listed(tmp_path):
    array = voxels("uint8")
    zarr.open_group(str(tmp_path / "a.zarr"), mode="w")
    for name in ("0", "1"):
        image(tmp_path / "a.zarr" / name, array, chunks=(8, 8, 8))
    assert_one_line(lobule("threshold", "a.zarr", "-o", "m.nii", "--above", "3", cwd=tmp_path), 65, "a.zarr", "has 2 images and arrays", "lobule info")
    listed = json.loads(good("info", "a.zarr", "--json", cwd=tmp_path).stdout)
    assert [one["path"] for one in listed["data_sets"]] == ["/0", "/1"] and listed["format"] == "OME-Zarr"
    assert np.array_equal(read(tmp_path, "a.zarr/1"), array)
    shutil.rmtree(tmp_path / "a.zarr/1")
    assert np.array_equal(read(tmp_path, "a.zarr"), array)


# ---- what is written ----------------------------------------------------------------------------


@pytest.fixture
def scan(tmp_path):
    save(scan_array(), tmp_path / "scan.nii.gz", AFFINE)
    return tmp_path


def test_round_trip_keeps_every_byte(scan):
    good("convert", "scan.nii.gz", "scan.ome.zarr", cwd=scan)
    good("convert", "scan.ome.zarr", "again.nii.gz", cwd=scan)
    assert (scan / "again.nii.gz").read_bytes() == (scan / "scan.nii.gz").read_bytes() or np.array_equal(
        load(scan / "again.nii.gz"), load(scan / "scan.nii.gz")
    )
    good("compare", "scan.nii.gz", "again.nii.gz", "--values", "--strict", cwd=scan)


@pytest.mark.parametrize("shape", [(1, 1, 1), (70, 3, 130), (140, 150, 70), (600, 20, 9)])
def test_zarr_python_reads(tmp_path, shape):
    array = voxels("int16", shape)
    save(array.T, tmp_path / "scan.nii")
    good("convert", "scan.nii", "scan.ome.zarr", cwd=tmp_path)
    group = zarr.open_group(str(tmp_path / "scan.ome.zarr"), mode="r")
    levels = [d["path"] for d in group.attrs["ome"]["multiscales"][0]["datasets"]]
    assert np.array_equal(group["0"][...], array)
    for finer, coarser in zip(levels, levels[1:]):
        assert np.array_equal(group[coarser][...], means(group[finer][...]))
    assert max(group[levels[-1]].shape) <= 128
    assert np.array_equal(read(tmp_path, "scan.ome.zarr"), array)


def means(array):
    """Of blocks of two along each axis, a half to the even number; what is cut off counts less."""
    array = array.astype(float)
    count = np.ones_like(array)
    for axis, side in enumerate(array.shape):
        if side > 1:
            starts = np.arange(0, side, 2)
            array, count = np.add.reduceat(array, starts, axis), np.add.reduceat(count, starts, axis)
    return np.rint(array / count).astype("int16")


def test_same_bytes_whatever_the_way(scan):
    good("phantom", "abdomen", "-o", "big.nii.gz", "--size", "150,70,140", cwd=scan)
    good("threshold", "big.nii.gz", "-o", "mask.nii.gz", "--above", "900", cwd=scan)
    good("components", "mask.nii.gz", "-o", "a.ome.zarr", "--threads", "1", cwd=scan)
    good("components", "mask.nii.gz", "-o", "b.ome.zarr", "--threads", "3", "--max-memory", "16MiB", cwd=scan)
    good("convert", "mask.nii.gz", "mask.ome.zarr", cwd=scan)
    good("components", "mask.ome.zarr", "-o", "c.ome.zarr", "--max-memory", "16MiB", cwd=scan)
    files = [{k: v for k, v in contents(scan / f"{name}.ome.zarr").items() if k != "zarr.json"} for name in "abc"]
    assert files[0] == files[1] == files[2]
    group = zarr.open_group(str(scan / "a.ome.zarr"), mode="r")
    assert np.array_equal(group["1"][...], group["0"][::2, ::2, ::2])


def test_labels_in_the_store_of_their_scan(scan):
    good("convert", "scan.nii.gz", "scan.ome.zarr", cwd=scan)
    (scan / "names.tsv").write_text("index\tname\tcolor\n1\tliver\t#ff0000\n")
    good("threshold", "scan.ome.zarr", "-o", "scan.ome.zarr/labels/bright", "--above", "50", cwd=scan)
    good("labels", "scan.ome.zarr/labels/bright", "-o", "scan.ome.zarr/labels/named", "--largest", "1", "--label-table", "names.tsv", cwd=scan)
    group = zarr.open_group(str(scan / "scan.ome.zarr"), mode="r")
    assert sorted(group["labels"].attrs["ome"]["labels"]) == ["bright", "named"]
    about = group["labels/named"].attrs["ome"]["image-label"]
    assert about["properties"] == [{"label-value": 1, "name": "liver"}] and about["source"] == {"image": "../../"}
    assert about["colors"] == [{"label-value": 1, "rgba": [255, 0, 0, 255]}]
    assert np.array_equal(group["labels/bright/0"][...].T, load(scan / "scan.nii.gz") > 50)
    assert "liver" in good("stats", "scan.ome.zarr", "scan.ome.zarr/labels/named", cwd=scan).stdout
    refused = lobule("threshold", "scan.ome.zarr", "-o", "scan.ome.zarr/labels/bright", "--above", "50", cwd=scan)
    assert_one_line(refused, 72, "exists")
    good("threshold", "scan.ome.zarr", "-o", "scan.ome.zarr/labels/bright", "--above", "60", "--force", cwd=scan)
    assert not [name for name in contents(scan) if ".tmp" in name]


def test_ome_zarr_py_opens_image_and_labels(scan):
    io, reader = pytest.importorskip("ome_zarr.io"), pytest.importorskip("ome_zarr.reader")
    good("convert", "scan.nii.gz", "scan.ome.zarr", cwd=scan)
    good("threshold", "scan.ome.zarr", "-o", "scan.ome.zarr/labels/bright", "--above", "50", cwd=scan)
    nodes = list(reader.Reader(io.parse_url(str(scan / "scan.ome.zarr")))())
    assert [node.data[0].shape for node in nodes if node.data] == [load(scan / "scan.nii.gz").shape[::-1]] * 2


def test_outputs_that_are_refused(scan):
    good("convert", "scan.nii.gz", "scan.ome.zarr", cwd=scan)
    image(scan / "two.zarr", voxels("uint8"), version="0.4")
    os.makedirs(scan / "mine.zarr")
    (scan / "mine.zarr/notes.txt").write_text("mine")
    before = contents(scan)
    for name, code, text in [
        ("mine.zarr", 73, "is a folder that is no Zarr store"),
        ("scan.ome.zarr/0", 73, "STORE.zarr/labels/NAME"),
        ("none.zarr/labels/a", 66, "is no array or group"),
        ("two.zarr/labels/a", 73, "Zarr 2"),
        ("nowhere/a.zarr", 73, "does not exist"),
    ]:
        assert_one_line(lobule("threshold", "scan.nii.gz", "-o", name, "--above", "5", "--force", cwd=scan), code, name, text)
    assert contents(scan) == before


def test_a_store_is_not_replaced_by_what_is_read_from_it(scan):
    good("convert", "scan.nii.gz", "scan.ome.zarr", cwd=scan)
    good("threshold", "scan.ome.zarr", "-o", "scan.ome.zarr/labels/a", "--above", "50", cwd=scan)
    refused(scan, ["convert", "scan.ome.zarr/labels/a", "scan.ome.zarr", "--force"],
            64, "scan.ome.zarr", "give the output a name of its own")  # fmt: skip


def test_what_a_store_replaces(scan):
    (scan / "file.zarr").write_text("a file")
    (scan / "nothing.zarr").symlink_to("away")
    good("convert", "scan.nii.gz", "store.zarr", cwd=scan)
    for name in ("file.zarr", "nothing.zarr", "store.zarr"):
        good("threshold", "scan.nii.gz", "-o", name, "--above", "50", "--force", cwd=scan)
        assert np.array_equal(read(scan, name).T, load(scan / "scan.nii.gz") > 50)
    assert not [path for path in scan.iterdir() if path.name.startswith(".")]


def test_writers_of_labels_at_one_time(scan):
    good("convert", "scan.nii.gz", "scan.ome.zarr", cwd=scan)
    names = [f"label{i}" for i in range(6)]
    words = [[PROGRAM, "threshold", "scan.nii.gz", "-o", f"scan.ome.zarr/labels/{name}", "--above", "50"] for name in names]
    for writer in [subprocess.Popen(one, cwd=scan) for one in words]:
        assert writer.wait(60) == 0
    assert sorted(zarr.open_group(str(scan / "scan.ome.zarr/labels"), mode="r").attrs["ome"]["labels"]) == names


@pytest.mark.parametrize("text, fits", [('{"zarr_format": 3, "node_type": "group"}', True), ('{"attributes": {"ome": {"labels": "none"}}}', False)])
def test_groups_of_labels(scan, text, fits):
    good("convert", "scan.nii.gz", "scan.ome.zarr", cwd=scan)
    (scan / "scan.ome.zarr/labels").mkdir()
    (scan / "scan.ome.zarr/labels/zarr.json").write_text(text)
    done = lobule("threshold", "scan.nii.gz", "-o", "scan.ome.zarr/labels/a", "--above", "50", cwd=scan)
    if fits:
        assert done.returncode == 0
        assert zarr.open_group(str(scan / "scan.ome.zarr/labels"), mode="r").attrs["ome"]["labels"] == ["a"]
    else:
        assert_one_line(done, 65, "list of label images")
        assert not (scan / "scan.ome.zarr/labels/a").exists()


def test_a_folder_that_is_called_zarr_takes_files(scan):
    (scan / "project.zarr").mkdir()
    good("convert", "scan.nii.gz", "project.zarr/copy.nii.gz", cwd=scan)


def test_batch_finds_stores(scan):
    for name in "ab":
        good("convert", "scan.nii.gz", f"{name}.ome.zarr", cwd=scan)
    words = ("batch", "--images", "*.zarr", "--out", "made", "--resume", "--", "threshold", "{image}", "-o", "{out}", "--above", "50")
    assert "2 done" in good(*words, cwd=scan).stderr
    assert sorted(path.name for path in (scan / "made").glob("*.nii.gz")) == ["a_labels.nii.gz", "b_labels.nii.gz"]
    assert "2 done before" in good(*words, cwd=scan).stderr
    good("threshold", "scan.nii.gz", "-o", "a.ome.zarr", "--above", "20", "--force", cwd=scan)
    assert "1 done, 1 done before" in good(*words, cwd=scan).stderr


def test_a_node_that_is_not_there(scan):
    good("convert", "scan.nii.gz", "a.ome.zarr", cwd=scan)
    assert_one_line(lobule("info", "a.ome.zarr/9", cwd=scan), 66, "is no array or group of the store")
    assert_one_line(lobule("info", "b.ome.zarr", cwd=scan), 66, "b.ome.zarr: cannot be opened")


# ---- damage -------------------------------------------------------------------------------------


def test_damaged_stores(tmp_path):
    """Cut, flipped and exchanged bytes in every file: an error of one line, or an image."""
    from numcodecs import Blosc

    rng = np.random.default_rng(5)
    whole = tmp_path / "whole"
    array = voxels("uint16")
    image(whole / "3.zarr", array, chunks=(8, 8, 8), shards=(16, 24, 32))
    image(whole / "2.zarr", array, version="0.4", chunks=(8, 8, 32), compressors=Blosc("lz4"))
    save(array.T, tmp_path / "scan.nii", AFFINE)
    good("convert", "../scan.nii", "ours.zarr", cwd=whole)
    stores = sorted(path.name for path in whole.iterdir())
    for number in range(60 // FEWER):
        store = stores[number % len(stores)]
        shutil.rmtree(tmp_path / store, ignore_errors=True)
        shutil.copytree(whole / store, tmp_path / store)
        files = sorted(path for path in (tmp_path / store).rglob("*") if path.is_file())
        for _ in range(1 + number % 2):
            damage(files[rng.integers(len(files))], rng)
        done = lobule("convert", store, "out.nii", "--force", cwd=tmp_path, timeout=60)
        assert done.returncode in (0, 65, 66, 74, 75), done
        if done.returncode:
            assert_one_line(done, done.returncode, store)


def test_a_shard_without_its_index(tmp_path):
    zarr.create_array(str(tmp_path / "a.zarr"), shape=(16, 16, 16), dtype="uint8", chunks=(8, 8, 8), shards=(16, 16, 16))[...] = 1
    (tmp_path / "a.zarr/c/0/0/0").write_bytes(b"ab")
    for threads in "13":
        assert_one_line(lobule("convert", "a.zarr", "x.nii", "--threads", threads, cwd=tmp_path), 65, "a.zarr", "no index")


def test_a_damaged_header_inside_is_told(scan):
    good("convert", "scan.nii.gz", "a.zarr", cwd=scan)
    (scan / "a.zarr/nifti/c/0").write_text("garbage")
    assert "the NIfTI header inside is damaged" in good("convert", "a.zarr", "x.nii", cwd=scan).stderr


def test_chunks_that_are_too_many(tmp_path):
    (tmp_path / "a.zarr").mkdir()
    (tmp_path / "a.zarr/.zarray").write_text(json.dumps({**HEAD, "shape": [4000, 4000, 1], "chunks": [1, 1, 1]}))
    assert_one_line(lobule("convert", "a.zarr", "x.nii", cwd=tmp_path), 65, "a.zarr", "chunks of 1 voxels")


def damage(file: Path, rng):
    raw = bytearray(file.read_bytes())
    kind = rng.integers(4)
    if kind == 0 or not raw:
        file.unlink()
        return
    if kind == 1:
        raw = raw[: rng.integers(len(raw))]
    elif kind == 2:
        for _ in range(3):
            raw[rng.integers(len(raw))] = rng.integers(256)
    else:
        digits = [i for i, byte in enumerate(raw) if chr(byte).isdigit()]
        if digits:
            raw[digits[rng.integers(len(digits))]] = ord(str(rng.integers(10)))
    file.write_bytes(raw)


HEAD = {"zarr_format": 2, "shape": [8, 8, 8], "chunks": [8, 8, 8], "dtype": "|u1", "compressor": None, "fill_value": 0, "order": "C", "filters": None}


@pytest.mark.parametrize(
    "change, text",
    [
        ({"shape": [8, 8, -8]}, "shape"),
        ({"shape": [1e300, 8, 8]}, "shape"),
        ({"shape": [2**40, 2**40, 8]}, "too large"),
        ({"shape": []}, "axes"),
        ({"shape": [8] * 6, "chunks": [8] * 6}, "6 axes"),
        ({"chunks": [0, 8, 8]}, "chunks"),
        ({"chunks": [2**20, 2**20, 8]}, "too large"),
        ({"dtype": "<c8"}, "<c8"),
        ({"dtype": "<f2"}, "<f2"),
        ({"order": "F"}, "order"),
        ({"compressor": {"id": "lzma"}}, "lzma"),
        ({"filters": [{"id": "delta"}]}, "delta"),
        ({"shape": [2**20, 2**20, 8], "chunks": [8, 8, 8]}, "memory"),
    ],
)
def test_metadata_that_is_refused(tmp_path, change, text):
    (tmp_path / "a.zarr").mkdir()
    (tmp_path / "a.zarr/.zarray").write_text(json.dumps({**HEAD, **change}))
    done = lobule("distance", "a.zarr", "-o", "x.nii", cwd=tmp_path)
    assert_one_line(done, 75 if text == "memory" else 65, "a.zarr", text)


def test_a_level_outside_of_the_store_is_refused(tmp_path):
    image(tmp_path / "a.zarr", voxels("uint8"), version="0.4")
    attributes = tmp_path / "a.zarr/.zattrs"
    attributes.write_text(attributes.read_text().replace('"path": "0"', '"path": "../b.zarr"'))
    assert_one_line(lobule("info", "a.zarr", cwd=tmp_path), 65, "a.zarr", "path")


@pytest.mark.parametrize("dtype", ["u1", "f4"])
def test_rows_of_chunks_where_little_is_not_zero(tmp_path, dtype):
    """The writer leaves out what is 0, in memory too: nothing of the chunks before may come through."""
    rng = np.random.default_rng(5)
    array = np.zeros((300, 200, 256), dtype)  # x, y, z: planes of about 1 or 4 pieces
    for row, share in enumerate((0.1, 1.0, 0.3, 0.6)):  # of the planes of each row of chunks
        planes = 64 * row + rng.permutation(64)[: int(64 * share)]
        for z in planes:
            array[rng.integers(300), rng.integers(200), z] = 1 + z % 200
            array[100:140, 20:60, z] = rng.integers(0, 200, (40, 40))
    save(array, tmp_path / "a.nii")
    good("convert", "a.nii", "a.ome.zarr", cwd=tmp_path)
    good("convert", "a.ome.zarr", "b.nii", cwd=tmp_path)
    assert np.array_equal(load(tmp_path / "b.nii"), array)


@pytest.mark.skipif("LOBULE_SANITIZED" in os.environ, reason="sanitizers take memory of their own")
def test_a_sparse_volume_keeps_to_its_memory(tmp_path):
    """Planes and labels; the rows of chunks that are read and written, 64 MiB each if all were held, come on top."""
    store = zarr.create_array(tmp_path / "s.zarr", shape=(96, 1024, 1024), chunks=(64, 64, 64), dtype="u1", fill_value=0)
    store[30:70, 100:140, 900:940] = 1
    report = tmp_path / "r.json"
    good("components", "s.zarr", "-o", "l.ome.zarr", "--max-memory", "96MiB", "--report", report, cwd=tmp_path)
    found = json.loads(report.read_text())
    assert found["results"]["planes_at_a_time"] < 10
    assert found["peak_memory_bytes"] < 110 << 20
