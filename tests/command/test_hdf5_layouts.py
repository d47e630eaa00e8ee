"""HDF5 layouts as their specifications state them, built with h5py: voxels, axes, place, values."""

import h5py
import nibabel
import numpy as np
import pytest
import SimpleITK as sitk
import tifffile
from conftest import SHARED, assert_one_line, good, lobule

RNG = np.random.default_rng(7)
LPS = np.diag([-1.0, -1.0, 1.0])


def ours(source, tmp_path, *options):
    """Voxels as (t, z, y, x, c) without axes of one but z y x, the affine, and what was said."""
    out = tmp_path / "ours.h5"
    done = good("convert", source, out, "--force", *options)
    image = sitk.ReadImage(str(out), imageIO="HDF5ImageIO")
    with h5py.File(out) as file:
        voxels = file["/ITKImage/0/VoxelData"][()]
    n = image.GetDimension()
    direction = np.array(image.GetDirection()).reshape(n, n)[:3, :3]
    affine = np.eye(4)
    affine[:3, :3] = LPS @ direction * np.array(image.GetSpacing())[:3]
    affine[:3, 3] = LPS @ np.array(image.GetOrigin())[:3]
    return voxels, affine, done.stderr


def text(value):
    return np.bytes_(value)


# ---- MINC 2 ----


def minc(path, data, order, low=None, high=None, valid=None, scales=(), dims=None, label=False):
    """dims: start, step and cosines by name."""
    with h5py.File(path, "w") as file:
        root = file.create_group("minc-2.0")
        root.attrs["class"] = text("label__" if label else "real___")
        for name in order:
            dim = root.create_dataset(f"dimensions/{name}", data=0)
            start, step, cosines = (dims or {}).get(name, (0.0, 1.0, None))
            dim.attrs.update(start=start, step=step, units=text("mm"), spacing=text("regular__"))
            if cosines is not None:
                dim.attrs["direction_cosines"] = np.array(cosines, "f8")
        image = root.create_dataset("image/0/image", data=data, chunks=True, compression="gzip")
        image.attrs["dimorder"] = text(",".join(order))
        if valid is not None:
            image.attrs["valid_range"] = np.array(valid, "f8")
        for name, values in (("image-min", low), ("image-max", high)):
            if values is not None:
                limit = root.create_dataset(f"image/0/{name}", data=np.asarray(values, "f8"))
                if scales:
                    limit.attrs["dimorder"] = text(",".join(scales))
    return path


TURN = {  # 30 degrees about z
    "xspace": (10.0, 0.5, (np.cos(np.pi / 6), np.sin(np.pi / 6), 0)),
    "yspace": (-20.0, 0.75, (-np.sin(np.pi / 6), np.cos(np.pi / 6), 0)),
    "zspace": (30.0, -2.0, (0, 0, 1)),
}


def minc_affine(dims):
    affine = np.eye(4)
    for axis, name in enumerate(("xspace", "yspace", "zspace")):
        start, step, cosines = dims[name]
        affine[:3, axis] = np.array(cosines) * step
        affine[:3, 3] += np.array(cosines) * start
    return affine


def test_minc_scales_each_slice(tmp_path):
    """Each slice has limits of its own; one step is negative, the axes are oblique."""
    data = RNG.integers(0, 4096, (5, 7, 11)).astype("u2")
    low, high = RNG.normal(size=5) * 100, RNG.normal(size=5) * 100 + 1000
    path = minc(tmp_path / "a.mnc", data, ("zspace", "yspace", "xspace"), low, high, (0, 4095), ("zspace",), TURN)
    voxels, affine, _ = ours(path, tmp_path)
    slope = ((high - low) / 4095)[:, None, None]
    assert np.array_equal(voxels, (data * slope + low[:, None, None]).astype("f4"))
    assert np.allclose(affine, minc_affine(TURN), atol=1e-12)
    assert np.allclose(voxels, nibabel.load(path).get_fdata(), rtol=1e-6, atol=1e-4)


@pytest.mark.parametrize(
    "order, scales",
    [
        (("xspace", "yspace", "zspace"), ("xspace",)),
        (("time", "zspace", "xspace", "yspace"), ("time", "zspace")),
        (("yspace", "zspace", "xspace"), ("yspace", "zspace")),
    ],
    ids=" ".join,
)
def test_minc_in_any_order(tmp_path, order, scales):
    sides = {"time": 3, "zspace": 5, "yspace": 7, "xspace": 11}
    data = RNG.integers(-1000, 1000, [sides[name] for name in order]).astype("i4")
    shape = [sides[name] for name in scales]
    low, high = RNG.normal(size=shape), RNG.normal(size=shape) + 9
    path = minc(tmp_path / "a.mnc", data, order, low, high, (-1000, 1000), scales, TURN)
    voxels, affine, _ = ours(path, tmp_path)
    grow = (...,) + (None,) * (data.ndim - len(scales))
    slope = ((high - low) / 2000)[grow]
    wanted = data * slope + (low + 1000 * (high - low) / 2000)[grow]
    wanted = np.moveaxis(wanted, [order.index(n) for n in ("time", "zspace", "yspace", "xspace") if n in order], range(data.ndim))
    assert voxels.dtype == "f8" and np.allclose(voxels, wanted, rtol=1e-14, atol=1e-11)
    assert np.allclose(affine, minc_affine(TURN), atol=1e-12)


def test_minc_of_one_scale_keeps_its_numbers(tmp_path):
    data = RNG.integers(0, 255, (5, 7, 11)).astype("u1")
    path = minc(tmp_path / "a.mnc", data, ("zspace", "yspace", "xspace"), np.full(5, -1.0), np.full(5, 254.0), (0, 255), ("zspace",))
    good("convert", path, tmp_path / "out.nii")
    image = nibabel.load(tmp_path / "out.nii")
    assert (image.dataobj.slope, image.dataobj.inter) == (1, -1)
    assert np.array_equal(np.asarray(image.dataobj.get_unscaled()).transpose(), data)


def test_minc_vectors_are_channels(tmp_path):
    data = RNG.normal(size=(5, 7, 11, 3)).astype("f4")
    path = minc(tmp_path / "v.mnc", data, ("zspace", "yspace", "xspace", "vector_dimension"))
    assert np.array_equal(ours(path, tmp_path)[0], data)


def test_minc_labels_and_what_does_not_fit(tmp_path):
    data = RNG.integers(0, 9, (5, 7, 11)).astype("u1")
    order = ("zspace", "yspace", "xspace")
    path = minc(tmp_path / "l.mnc", data, order, 0.0, 1.0, (0, 255), label=True)
    voxels, _, _ = ours(path, tmp_path)
    assert voxels.dtype == "u1" and np.array_equal(voxels, data)
    for low, high, scales, says in [
        (np.zeros(4), np.ones(4), ("zspace",), "do not fit"),
        (np.zeros(5), np.full(5, np.nan), ("zspace",), "do not fit"),
        (np.zeros((2, 2)), np.ones((2, 2)), ("zspace", "zspace"), "do not fit"),
        (np.zeros(5), np.ones(5), ("frequency",), "cannot be read"),
    ]:
        path = minc(tmp_path / "bad.mnc", data, order, low, high, (0, 255), scales)
        assert_one_line(lobule("convert", path, tmp_path / "no.nii"), 65, "bad.mnc", says)
    path = minc(tmp_path / "bad.mnc", data, ("zspace", "yspace", "frequency"), 0.0, 1.0)
    assert_one_line(lobule("convert", path, tmp_path / "no.nii"), 65, "bad.mnc", "xspace")


# ---- Imaris ----


def imaris(path, frames=2, channels=3, sides=(5, 7, 11), padded=(8, 8, 16)):
    def put(group, **values):
        for name, value in values.items():
            group.attrs[name] = np.array(list(str(value)), "S1")

    data = RNG.integers(0, 60000, (frames, channels, *padded)).astype("u2")
    z, y, x = sides
    with h5py.File(path, "w") as file:
        put(
            file.create_group("DataSetInfo/Image"),
            X=x, Y=y, Z=z, Unit="um",
            ExtMin0=1, ExtMin1=-2, ExtMin2=3, ExtMax0=1 + x * 0.25, ExtMax1=-2 + y * 0.5, ExtMax2=3 + z * 2.0,
        )  # fmt: skip
        for t in range(frames):
            for c in range(channels):
                group = file.create_group(f"DataSet/ResolutionLevel 0/TimePoint {t}/Channel {c}")
                put(group, ImageSizeX=x, ImageSizeY=y, ImageSizeZ=z)
                group.create_dataset("Data", data=data[t, c], chunks=(4, 4, 8), compression="gzip")
                group.create_dataset("Histogram", data=np.zeros(256, "u8"))
    return data[:, :, :z, :y, :x]


def test_imaris_without_its_padding(tmp_path):
    path = tmp_path / "cells.ims"
    data = imaris(path)
    voxels, affine, _ = ours(path, tmp_path)
    assert np.array_equal(voxels, np.moveaxis(data, 1, -1))
    wanted = np.diag([0.25e-3, 0.5e-3, 2e-3, 1])
    wanted[:3, 3] = [1.125e-3, -1.75e-3, 4e-3]
    assert np.allclose(affine, wanted, atol=1e-15)
    voxels, _, _ = ours(path, tmp_path, "--frame", 1, "--channel", 2)
    assert np.array_equal(voxels, data[1, 2])
    voxels, _, _ = ours(f"{path}:/DataSet/ResolutionLevel 0/TimePoint 1", tmp_path)
    assert np.array_equal(voxels, np.moveaxis(data[1], 0, -1))
    voxels, _, _ = ours(f"{path}:/DataSet/ResolutionLevel 0/TimePoint 1/Channel 2/Data", tmp_path)
    assert np.array_equal(voxels, data[1, 2])


def test_imaris_that_contradicts_itself(tmp_path):
    path = tmp_path / "cells.ims"
    imaris(path)
    with h5py.File(path, "r+") as file:
        file["DataSet/ResolutionLevel 0/TimePoint 0/Channel 0"].attrs["ImageSizeX"] = np.array(list("17"), "S1")
    assert_one_line(lobule("convert", path, tmp_path / "no.nii"), 65, "ImageSizeX")
    imaris(path)
    with h5py.File(path, "r+") as file:
        del file["DataSet/ResolutionLevel 0/TimePoint 1/Channel 1/Data"]
        file["DataSet/ResolutionLevel 0/TimePoint 1/Channel 1/Data"] = np.zeros((8, 8, 8), "u2")
    assert_one_line(lobule("convert", path, tmp_path / "no.nii"), 65, "differ in type or shape")
    imaris(path)
    with h5py.File(path, "r+") as file:
        del file["DataSetInfo/Image"].attrs["ExtMax2"]
    assert "ExtMin and ExtMax are not usable" in ours(path, tmp_path)[2]
    assert ours(path, tmp_path, "--spacing", "1,1,2")[2] == ""


# ---- BigDataViewer ----

XML = """<?xml version="1.0"?><SpimData version="0.2"><SequenceDescription><ViewSetups>
<ViewSetup><id>0</id><voxelSize><unit>um</unit><size>0.25 0.5 2.0</size></voxelSize></ViewSetup>
<ViewSetup><id>1</id><voxelSize><unit>nm</unit><size>100 200 400</size></voxelSize></ViewSetup>
</ViewSetups></SequenceDescription><ViewRegistrations>
<ViewRegistration timepoint="0" setup="1">
<ViewTransform type="affine"><Name>shift</Name><affine>1 0 0 5 0 1 0 6 0 0 1 7</affine></ViewTransform>
<ViewTransform type="affine"><affine>0 -100 0 0 200 0 0 0 0 0 400 0</affine></ViewTransform>
</ViewRegistration></ViewRegistrations></SpimData>"""


def bdv(path, setups=1, frames=2, kind=None, xml=XML):
    data = RNG.integers(0, 65536, (frames, setups, 6, 8, 10)).astype("u2")
    with h5py.File(path, "w") as file:
        for s in range(setups):
            group = file.create_group(f"s{s:02}")
            group["resolutions"] = np.array([[1, 1, 1], [2, 2, 1]], "f8")
            group["subdivisions"] = np.array([[4, 4, 4], [4, 4, 4]], "i4")
            if kind:
                group.attrs["dataType"] = kind
            for t in range(frames):
                for level, step in enumerate((1, 2)):
                    small = data[t, s, :, ::step, ::step].view("i2")
                    file.create_dataset(f"t{t:05}/s{s:02}/{level}/cells", data=small, chunks=(4, 4, 4), compression="gzip")
    if xml:
        path.with_suffix(".xml").write_text(xml)
    return data


@pytest.mark.parametrize("kind", [None, "uint16"])
def test_bdv_holds_unsigned_numbers(tmp_path, kind):
    path = tmp_path / "fly.h5"
    data = bdv(path, kind=kind)
    voxels, affine, _ = ours(path, tmp_path)
    assert voxels.dtype == "u2" and np.array_equal(voxels, data[:, 0])
    assert np.allclose(affine, np.diag([0.25e-3, 0.5e-3, 2e-3, 1]), atol=1e-15)
    voxels, affine, _ = ours(f"{path}:/t00001/s00/1", tmp_path)
    assert np.array_equal(voxels, data[1, 0, :, ::2, ::2])
    assert np.allclose(np.diag(affine), [0.5e-3, 1e-3, 2e-3, 1], atol=1e-15)
    assert np.allclose(affine[:3, 3], [0.125e-3, 0.25e-3, 0], atol=1e-15)  # between two voxels


def test_bdv_setups_are_named(tmp_path):
    path = tmp_path / "fly.h5"
    data = bdv(path, setups=2, frames=1)
    assert_one_line(lobule("convert", path, tmp_path / "no.nii"), 65, "/s00", "/s01", "choose one")
    voxels, affine, _ = ours(f"{path}:/s01", tmp_path)
    assert np.array_equal(voxels, data[0, 1])
    assert np.allclose(affine[:3], np.array([[0, -100, 0, 5], [200, 0, 0, 6], [0, 0, 400, 7]]) * 1e-6, atol=1e-15)


def test_bdv_signed_and_without_xml(tmp_path):
    path = tmp_path / "fly.h5"
    data = bdv(path, kind="int16", xml=None, frames=1)
    voxels, _, said = ours(path, tmp_path)
    assert voxels.dtype == "i2" and np.array_equal(voxels, data[0, 0].view("i2"))
    assert "no BigDataViewer XML" in said
    assert good("convert", path, tmp_path / "spaced.nii", "--spacing", "1,1,2").stderr == ""
    for bad in ("<ViewSetup><id>0</id>", "\0", "<ViewSetup", "<ViewSetup><id>0</id><voxelSize><size>1 1</size>"
                "</voxelSize></ViewSetup>"):  # fmt: skip
        path.with_suffix(".xml").write_text(bad)
        assert "no BigDataViewer XML" in ours(path, tmp_path)[2]


# ---- ISMRMRD ----

HEADER = np.dtype(
    [("version", "u2"), ("data_type", "u2"), ("flags", "u8"), ("measurement_uid", "u4"), ("matrix_size", "u2", 3)]
    + [("field_of_view", "f4", 3), ("channels", "u2"), ("position", "f4", 3), ("read_dir", "f4", 3)]
    + [("phase_dir", "f4", 3), ("slice_dir", "f4", 3), ("slice", "u2"), ("user_float", "f4", 8)]
)
READ, PHASE, SLICE = np.array([0.6, 0.8, 0]), np.array([-0.8, 0.6, 0]), np.array([0, 0, 1.0])


def mrd(file, name, data, view, positions):
    header = np.zeros(len(data), HEADER)
    header["matrix_size"] = data.shape[:1:-1]
    header["field_of_view"] = view
    header["position"] = positions
    header["read_dir"], header["phase_dir"], header["slice_dir"] = READ, PHASE, SLICE
    file[f"{name}/header"] = header
    file[f"{name}/data"] = data
    file[f"{name}/attributes"] = np.array(["<ismrmrdMeta/>"] * len(data), h5py.string_dtype())


def mrd_affine(spacing, centre, sides):
    affine = np.eye(4)
    columns = np.stack([READ * spacing[0], PHASE * spacing[1], SLICE * spacing[2]], axis=1)
    affine[:3, :3] = LPS @ columns
    affine[:3, 3] = LPS @ (np.asarray(centre) - columns @ ((np.array(sides) - 1) / 2))
    return affine


def test_mrd_lies_about_its_centre(tmp_path):
    data = RNG.normal(size=(2, 3, 5, 7, 11)).astype("f4")
    with h5py.File(tmp_path / "mr.h5", "w") as file:
        mrd(file, "dataset/image_0", data, (11 * 0.5, 7 * 0.75, 5 * 2), [(10, -20, 30)] * 2)
        file["dataset/xml"] = "<ismrmrdHeader/>"
    voxels, affine, said = ours(tmp_path / "mr.h5", tmp_path)
    assert np.array_equal(voxels, np.moveaxis(data, 1, -1)) and said == ""
    assert np.allclose(affine, mrd_affine((0.5, 0.75, 2), (10, -20, 30), (11, 7, 5)), atol=1e-5)


@pytest.mark.parametrize("gap", [3.0, -3.0])
def test_mrd_slices_are_a_volume(tmp_path, gap):
    """Images of one slice each, side by side, along their normal or against it."""
    data = RNG.normal(size=(6, 1, 1, 7, 11)).astype("f4")
    with h5py.File(tmp_path / "mr.h5", "w") as file:
        mrd(file, "dataset/image_7", data, (5.5, 5.25, 2), [(10, -20, 30 + gap * i) for i in range(6)])
    voxels, affine, _ = ours(tmp_path / "mr.h5", tmp_path)
    assert np.array_equal(voxels, data[:, 0, 0])
    wanted = mrd_affine((0.5, 0.75, gap), (10, -20, 30), (11, 7, 1))
    assert np.allclose(affine, wanted, atol=1e-5)


def test_mrd_elsewhere_and_several(tmp_path):
    data = RNG.normal(size=(3, 1, 1, 7, 11)).astype("f4")
    path = tmp_path / "mr.h5"
    places = [(10, -20, 30), (10, -20, 33), (10, -20, 40)]
    with h5py.File(path, "w") as file:
        mrd(file, "dataset/image_0", data, (5.5, 5.25, 2), places)
    assert "different places" in ours(path, tmp_path)[2]
    voxels, affine, said = ours(path, tmp_path, "--frame", 2)
    assert np.array_equal(voxels[0], data[2, 0, 0]) and said == ""
    assert np.allclose(affine, mrd_affine((0.5, 0.75, 2), places[2], (11, 7, 1)), atol=1e-5)
    with h5py.File(path, "r+") as file:
        mrd(file, "dataset/image_1", data.astype("c8"), (5.5, 5.25, 2), places)
    assert_one_line(lobule("convert", path, tmp_path / "no.nii"), 65, "/dataset/image_0", "/dataset/image_1")
    assert_one_line(lobule("convert", f"{path}:/dataset/image_1", tmp_path / "no.nii"), 65, "complex")
    with h5py.File(path, "r+") as file:
        header = file["dataset/image_0/header"][()]
        header["matrix_size"] = 5
        file["dataset/image_0/header"][...] = header
    assert_one_line(lobule("convert", f"{path}:/dataset/image_0", tmp_path / "no.nii"), 65, "matrix_size")


# ---- NeXus ----


def nexus(path, default=True, order=("z", "y", "x"), steps=(2.0, -0.5, 0.25), units="um"):
    sides = (5, 7, 11)
    data = RNG.normal(size=sides).astype("f4")
    with h5py.File(path, "w") as file:
        entry = file.create_group("entry")
        entry.attrs["NX_class"] = "NXentry"
        group = entry.create_group("scan")
        group.attrs["NX_class"], group.attrs["signal"] = "NXdata", "counts"
        group.attrs["axes"] = list(order)
        group["counts"] = data
        group["errors"] = np.zeros(sides, "f4")
        if default:
            file.attrs["default"], entry.attrs["default"] = "entry", "scan"
        units = [units] * 3 if isinstance(units, str) else units
        for name, n, step, unit in zip(order, sides, steps, units):
            if name != ".":
                group[name] = 10 + step * np.arange(n)
                group[name].attrs["units"] = unit
    return data


@pytest.mark.parametrize("default", [True, False])
def test_nexus_by_its_axes(tmp_path, default):
    data = nexus(tmp_path / "scan.nxs", default)
    for inside in ("", ":/entry", ":/entry/scan", ":/entry/scan/counts"):
        voxels, affine, said = ours(f"{tmp_path / 'scan.nxs'}{inside}", tmp_path)
        assert np.array_equal(voxels, data) and said == ""
        wanted = np.diag([0.25e-3, -0.5e-3, 2e-3, 1])
        wanted[:3, 3] = 10e-3
        assert np.allclose(affine, wanted, atol=1e-14)


def test_nexus_with_odd_axes(tmp_path):
    """Axes under other names go by their order; one without places, or uneven ones, are told of."""
    data = nexus(tmp_path / "scan.nxs", order=("x", "rotation", "y"), units="mm")
    voxels, affine, _ = ours(tmp_path / "scan.nxs", tmp_path)
    assert np.array_equal(voxels, data.transpose(1, 2, 0))
    assert np.allclose(np.diag(affine), [2, 0.25, -0.5, 1])
    nexus(tmp_path / "scan.nxs", order=(".", "y", "x"), units="mm")
    _, affine, said = ours(tmp_path / "scan.nxs", tmp_path)
    assert np.allclose(np.diag(affine), [0.25, -0.5, 1, 1]) and "1 mm for those" in said
    with h5py.File(tmp_path / "scan.nxs", "r+") as file:
        file["entry/scan/x"][...] = np.arange(11.0) ** 2
    assert "1 mm for those" in ours(tmp_path / "scan.nxs", tmp_path)[2]
    assert ours(tmp_path / "scan.nxs", tmp_path, "--spacing", "1,1,2")[2] == ""


UNITS = {"um": 1e-3, "µm": 1e-3, "μm": 1e-3, "micron": 1e-3, "microns": 1e-3, "Micrometres": 1e-3, "nm": 1e-6, "nanometer": 1e-6,
         "pm": 1e-9, "angstrom": 1e-7, "Å": 1e-7, "mm": 1, "millimetre": 1, "cm": 10, "dm": 100, "m": 1e3, "meters": 1e3,
         "in": 25.4, "inch": 25.4, "inches": 25.4, "": 1}  # fmt: skip


@pytest.mark.parametrize("unit", UNITS)
def test_a_unit(tmp_path, unit):
    nexus(tmp_path / "scan.nxs", units=unit)
    _, affine, said = ours(tmp_path / "scan.nxs", tmp_path)
    assert np.allclose(np.diag(affine)[:3], np.array([0.25, -0.5, 2]) * UNITS[unit], rtol=1e-6, atol=0) and said == ""


def test_units_differ_from_axis_to_axis(tmp_path):
    nexus(tmp_path / "scan.nxs", units=["mm", "um", "nm"])
    _, affine, said = ours(tmp_path / "scan.nxs", tmp_path)
    assert np.allclose(np.diag(affine)[:3], [0.25e-6, -0.5e-3, 2], rtol=1e-6, atol=0) and said == ""
    shown = []
    for units in (["mm", "um", "um"], ["um", "um", "mm"], ["um", "nm", "um"]):
        steps = [0.2 / UNITS[unit] for unit in units]
        nexus(tmp_path / "scan.nxs", units=units, steps=steps)
        good("convert", tmp_path / "scan.nxs", tmp_path / "out.tif", "--force")
        shown.append(tifffile.TiffFile(tmp_path / "out.tif").imagej_metadata["unit"])
    assert shown == ["mm", "mm", "micron"]


def test_a_unit_that_is_not_known_is_told_of(tmp_path):
    nexus(tmp_path / "scan.nxs", units=["mm", "mm", "furlong"])
    _, affine, said = ours(tmp_path / "scan.nxs", tmp_path)
    assert np.allclose(np.diag(affine)[:3], [0.25, -0.5, 2]) and "'furlong' is not known" in said and "millimetres" in said
    bdv(tmp_path / "stack.h5", xml=XML.replace(">um<", ">ell<"))
    assert "'ell' is not known as a unit of length; micrometres are taken" in ours(tmp_path / "stack.h5", tmp_path)[2]
    tags = '{"axes": [{"key": "z", "resolution": 4}, {"key": "y", "resolution": 3}, {"key": "x", "resolution": 2}]}'
    with h5py.File(tmp_path / "plain.h5", "w") as file:
        file["raw"] = np.zeros((3, 4, 5), "u1")
        file["raw"].attrs["axistags"] = tags
        file["raw"].attrs["axis_units"] = '{"x": "parsec", "y": "nm"}'
    _, affine, said = ours(tmp_path / "plain.h5", tmp_path)
    assert np.allclose(np.diag(affine)[:3], [2e-3, 3e-6, 4e-3], rtol=1e-6, atol=0) and "'parsec' is not known" in said


def test_nexus_without_a_default_lists_its_groups(tmp_path):
    nexus(tmp_path / "scan.nxs", default=False)
    with h5py.File(tmp_path / "scan.nxs", "r+") as file:
        file.copy("entry/scan", "entry/other")
    assert_one_line(lobule("convert", tmp_path / "scan.nxs", tmp_path / "no.nii"), 65, "/entry/other", "/entry/scan")


# ---- files of other programs ----

NIBABEL, CELLS = SHARED / "conformance" / "nibabel", SHARED / "data" / "plantseg-cells"

# Every HDF5 file there, and the MINC 1 files beside; what must be said where it is refused.
REAL = [
    (NIBABEL / "minc2-4d-d.mnc", None),
    (NIBABEL / "minc2-no-att.mnc", None),
    (NIBABEL / "minc2_1_scale.mnc", None),
    (NIBABEL / "minc2_4d.mnc", None),
    (NIBABEL / "minc1-no-att.mnc", "MINC 1"),
    (NIBABEL / "minc1_1_scale.mnc", "MINC 1"),
    (NIBABEL / "minc1_4d.mnc", "MINC 1"),
    (NIBABEL / "tiny.mnc", "MINC 1"),
    (CELLS / "1135_mini.h5", "/label (100 x 100 x 100), /raw (100 x 100 x 100)"),
    (CELLS / "1136_mini.h5", "/label (100 x 100 x 100), /raw (100 x 100 x 100)"),
    (CELLS / "1137_mini.h5", "/label (100 x 100 x 100), /raw (100 x 100 x 100)"),
    (CELLS / "sample_ovule.h5", "/label (32 x 128 x 128), /raw (32 x 128 x 128)"),
    (CELLS / "train_3D_3D.h5", "/label (75 x 75 x 75), /raw (75 x 75 x 75)"),
]


@pytest.mark.skipif(not CELLS.exists(), reason=f"no {CELLS}")
@pytest.mark.parametrize("path, refused", REAL, ids=[row[0].name for row in REAL])
def test_every_real_file_is_read_or_refused(tmp_path, path, refused):
    if refused:
        assert_one_line(lobule("convert", path, tmp_path / "no.nii"), 65, path.name, refused)
    if path.suffix == ".h5":
        with h5py.File(path) as file:
            for name in ("raw", "label"):
                voxels, affine, _ = ours(f"{path}:/{name}", tmp_path)
                assert voxels.dtype == file[name].dtype and np.array_equal(voxels, file[name][()])
                um = file[name].attrs.get("element_size_um", np.full(3, 1000.0))
                assert np.allclose(np.diag(affine)[:3], um[::-1] / 1000, rtol=1e-12)
    elif not refused:
        image = nibabel.load(path)
        voxels, affine, _ = ours(path, tmp_path)
        # nibabel keeps the file's order of axes, we go by their names
        order = h5py.File(path)["minc-2.0/image/0/image"].attrs["dimorder"].decode().split(",")
        names = [name for name in ("time", "zspace", "yspace", "xspace") if name in order]
        wanted = np.moveaxis(np.asarray(image.dataobj), [order.index(name) for name in names], range(len(names)))
        assert np.array_equal(voxels, wanted.astype(voxels.dtype))
        spatial = [name for name in order if name != "time"]
        columns = [spatial.index(name) for name in ("xspace", "yspace", "zspace")]
        assert np.allclose(affine[:, :3], image.affine[:, columns], atol=1e-12)
        assert np.allclose(affine[:, 3], image.affine[:, 3], atol=1e-12)
