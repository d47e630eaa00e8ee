"""Names and colours of labels: files as their programs write them, read, written and carried along."""

import csv
import json
from xml.etree import ElementTree

import nibabel
import numpy as np
import pytest
import slicerio
from conftest import assert_one_line, good, lobule, save, scan_array, seeds_array

LABELS = seeds_array()
NAMED = {1: ("left lobe", (221, 130, 101)), 2: ("Milz", (0, 7, 255))}

# as the documentation of each program has it, with what the program itself puts there
FILES = {
    "slicer.ctbl": b"# Color table file /tmp/table.ctbl\n# 3 values\n0 background 0 0 0 0\n1 left_lobe 221 130 101 255\n2 Milz 0 7 255 255\n",
    "slicer.csv": b"LabelValue,Name,Color_R,Color_G,Color_B,Color_A,Category_CodingScheme,Category_CodeValue,Category_CodeMeaning\r\n"
    b"0,background,0,0,0,0,,,\r\n2,Milz,0,7,255,255,SCT,123037004,Anatomical Structure\r\n1,left lobe,221,130,101,255,,,\r\n",
    "slicer.tsv": b"LabelValue\tName\tColor_R\tColor_G\tColor_B\n1\tleft lobe\t221\t130\t101\n2\tMilz\t0\t7\t255\n",
    "excel.csv": b"\xef\xbb\xbfLabelValue,Name,Color_R,Color_G,Color_B\r\n1,\"left lobe\",221,130,101\r\n2,Milz,0,7,255\r\n",
    "semicolons.csv": b"LabelValue;Name;Color_R;Color_G;Color_B\r\n1;left lobe;221;130;101\r\n2;Milz;0;7;255\r\n",
    "dseg.csv": b"index,name,color\n1,left lobe,#dd8265\n2,Milz,#0007ff\n",
    "snap.label": b"################################################\n# ITK-SnAP Label Description File\n# File format: \n"
    b"# IDX   -R-  -G-  -B-  -A--  VIS MSH  LABEL\n################################################\n"
    b"    0     0    0    0        0  0  0    \"Clear Label\"\n    1   221  130  101        1  1  1    \"left lobe\"\n"
    b"    2     0    7  255      0.5  1  0    \"Milz\"\n",
    "freesurfer.lut": b"#$Id: FreeSurferColorLUT.txt,v 1.0$\n\n#No. Label Name:                R   G   B   A\n\n"
    b"0   Unknown                     0   0   0   0\n1   left_lobe  221 130 101   0\n2   Milz   0   7   255   0\n",
    "dseg.tsv": b"index\tname\tabbreviation\tcolor\tmapping\n0\tBackground\tBG\t#000000\t0\n1\tleft lobe\tLL\t#dd8265\t9\n2\tMilz\tM\t#0007ff\tn/a\n",
}
FILES["snap.txt"], FILES["freesurfer.txt"], FILES["slicer.txt"] = FILES["snap.label"], FILES["freesurfer.lut"], FILES["slicer.ctbl"]


@pytest.fixture
def folder(tmp_path):
    save(LABELS, tmp_path / "labels.nii.gz")
    save(scan_array(), tmp_path / "image.nii.gz")
    return tmp_path


def segments(path):
    """Names and colours of a .seg.nrrd, by label, as 3D Slicer's own reader has them."""
    found = slicerio.read_segmentation(str(path))["segments"]
    return {s["labelValue"]: (s["name"], tuple(round(c * 255) for c in s["color"])) for s in found}


def written(path):
    """What a table written by lobule says, by label, read as the program it is for reads it."""
    lines = path.read_text().splitlines()
    if path.suffix == ".csv":
        return {int(r["LabelValue"]): (r["Name"], tuple(int(r[f"Color_{c}"]) for c in "RGB")) for r in csv.DictReader(lines)}
    if path.suffix == ".tsv":
        rows = csv.DictReader(lines, delimiter="\t")
        return {int(r["index"]): (r["name"], tuple(bytes.fromhex(r["color"][1:]))) for r in rows}
    rows = [line for line in lines if line.strip() and not line.startswith("#")]
    if path.suffix == ".label":
        cut = [(line.split('"')[0].split(), line.split('"')[1]) for line in rows]
        return {int(n[0]): (name, tuple(map(int, n[1:4]))) for n, name in cut if n[0] != "0"}
    return {int(w[0]): (w[1].replace("_", " "), tuple(map(int, w[2:5]))) for w in map(str.split, rows)}


@pytest.mark.parametrize("name", FILES)
def test_tables_of_other_programs(folder, name):
    (folder / name).write_bytes(FILES[name])
    good("convert", "--labels", "labels.nii.gz", "out.seg.nrrd", "--label-table", name, cwd=folder)
    found = {n: (text.replace("_", " "), colour) for n, (text, colour) in segments(folder / "out.seg.nrrd").items()}
    assert {n: found[n] for n in NAMED} == NAMED
    assert set(found) == set(np.unique(LABELS)) - {0}


@pytest.mark.parametrize("suffix", [".csv", ".ctbl", ".label", ".lut", ".tsv", ".txt"])
def test_from_a_segmentation_to_any_table_and_back(folder, suffix):
    (folder / "in.csv").write_bytes(FILES["slicer.csv"])
    good("convert", "--labels", "labels.nii.gz", "in.seg.nrrd", "--label-table", "in.csv", cwd=folder)
    run = good("convert", "--labels", "in.seg.nrrd", "out.nii.gz", "--write-label-table", "out" + suffix, cwd=folder)
    assert run.stderr == ""  # no name was lost
    found = written(folder / ("out" + suffix))
    assert {n: found[n] for n in NAMED} == NAMED
    good("convert", "--labels", "out.nii.gz", "back.seg.nrrd", "--label-table", "out" + suffix, cwd=folder)
    again = {n: (name.replace("_", " "), colour) for n, (name, colour) in segments(folder / "back.seg.nrrd").items()}
    assert {n: again[n] for n in NAMED} == NAMED


def test_codes_pass_through_a_csv(folder):
    (folder / "in.csv").write_bytes(FILES["slicer.csv"])
    good("convert", "--labels", "labels.nii.gz", "a.seg.nrrd", "--label-table", "in.csv", cwd=folder)
    good("convert", "--labels", "a.seg.nrrd", "b.nii.gz", "--write-label-table", "b.csv", cwd=folder)
    rows = {r["LabelValue"]: r for r in csv.DictReader((folder / "b.csv").read_text().splitlines())}
    assert rows["2"]["Category_CodeValue"] == "123037004" and rows["2"]["Category_CodeMeaning"] == "Anatomical Structure"
    assert rows["1"]["Category_CodeValue"] == "85756007"  # a segmentation gives every segment a code, at least "tissue"


def test_names_that_other_encodings_hold(folder):
    (folder / "in.csv").write_bytes("LabelValue,Name\n1,\"R\u00fcckenmark, links \"\"a\"\"\"\n".encode("latin-1"))
    good("convert", "--labels", "labels.nii.gz", "out.seg.nrrd", "--label-table", "in.csv", "--write-label-table", "out.csv", cwd=folder)
    assert written(folder / "out.csv")[1][0] == 'R\u00fcckenmark, links "a"'


def test_growcut_and_labels_name_their_output(folder):
    (folder / "names.tsv").write_bytes(FILES["dseg.tsv"])
    good("growcut", "image.nii.gz", "labels.nii.gz", "-o", "grown.seg.nrrd", "--label-table", "names.tsv", cwd=folder)
    assert segments(folder / "grown.seg.nrrd")[1] == NAMED[1]
    good("labels", "labels.nii.gz", "-o", "kept.seg.nrrd", "--keep", "2", "--label-table", "names.tsv", cwd=folder)
    assert segments(folder / "kept.seg.nrrd") == {2: NAMED[2]}


def test_lost_names_are_told(folder):
    (folder / "names.tsv").write_bytes(FILES["dseg.tsv"])
    for out, more in (("out.mha", []), ("out.nrrd", []), ("out.nii.gz", ["--strip-extensions"])):
        run = good("convert", "--labels", "labels.nii.gz", out, "--label-table", "names.tsv", "--report", "r.json", *more, cwd=folder)
        assert run.stderr.count("\n") == 1 and "does not hold the names of labels" in run.stderr
        report = json.loads((folder / "r.json").read_text())
        assert report["results"]["named_labels"] == 2 and len(report["notes"]) == 1
    assert np.array_equal(np.asanyarray(nibabel.load(folder / "out.nii.gz").dataobj), LABELS)
    assert not nibabel.load(folder / "out.nii.gz").header.extensions


# ---- names inside NIfTI ----


def raw(extension):
    """Its bytes; nibabel 5.3 and later interpret what get_content gives."""
    return extension.content if hasattr(extension, "content") else extension.get_content()


def workbench(path):
    """What Connectome Workbench finds in a NIfTI file: names and colours by label, of the extension with code 30."""
    tables = [e for e in nibabel.load(path).header.extensions if e.get_code() == 30]
    if not tables:
        return {}
    (table,) = tables
    root = ElementTree.fromstring(raw(table).rstrip(b"\0"))
    assert root.tag == "CaretExtension" and root.find("VolumeInformation/VolumeType").text == "Label"
    rows = {int(r.get("Key")): r for r in root.find("VolumeInformation/LabelTable")}
    assert rows.pop(0).text == "???"
    return {n: (r.text, tuple(round(float(r.get(c)) * 255) for c in ("Red", "Green", "Blue"))) for n, r in rows.items()}


def test_nifti_keeps_names(folder):
    """Names, colours and codes go from a segmentation through .nii.gz into a segmentation."""
    (folder / "in.csv").write_bytes(FILES["slicer.csv"].replace(b"left lobe", b"left <&]]> lobe"))
    good("convert", "--labels", "labels.nii.gz", "a.seg.nrrd", "--label-table", "in.csv", cwd=folder)
    named = {1: ("left <&]]> lobe", NAMED[1][1]), 2: NAMED[2]}
    for there in ("b.nii.gz", "b.nii", "b.img", "c.nii"):
        run = good("convert", "--labels", "a.seg.nrrd" if there[0] == "b" else "b.nii", there, cwd=folder)
        assert run.stderr == "" and workbench(folder / there) == named
        good("convert", "--labels", there, "back.seg.nrrd", "--force", cwd=folder)
        assert segments(folder / "back.seg.nrrd") == named
        good("convert", "--labels", there, "x.nii", "--write-label-table", "back.csv", "--force", cwd=folder)
        rows = {r["LabelValue"]: r for r in csv.DictReader((folder / "back.csv").read_text().splitlines())}
        assert rows["2"]["Category_CodeMeaning"] == "Anatomical Structure"
    assert (folder / "b.nii").read_bytes() == (folder / "c.nii").read_bytes()
    good("convert", "b.nii", "d.nii", cwd=folder)
    assert (folder / "b.nii").read_bytes() == (folder / "d.nii").read_bytes()


def test_names_that_totalsegmentator_writes(folder):
    """It puts Workbench's table under code 0."""
    table = '<?xml version="1.0" encoding="UTF-8"?> <CaretExtension>  <Date><![CDATA[2013-07-14T05:45:09]]></Date>   <VolumeInformation Index="0">   <LabelTable>\n'
    for n, (name, colour) in NAMED.items():
        red, green, blue = (round(c / 255, 3) for c in colour)
        table += f'<Label Key="{n}" Red="{red}" Green="{green}" Blue="{blue}" Alpha="1"><![CDATA[{name}]]></Label>\n'
    table += "  </LabelTable>  <StudyMetaDataLinkSet>  </StudyMetaDataLinkSet>  <VolumeType><![CDATA[Label]]></VolumeType>   </VolumeInformation></CaretExtension>"
    image = nibabel.load(folder / "labels.nii.gz")
    image.header.extensions.append(nibabel.nifti1.Nifti1Extension(0, table.encode()))
    nibabel.save(image, folder / "total.nii")
    good("convert", "--labels", "total.nii", "out.seg.nrrd", cwd=folder)
    assert segments(folder / "out.seg.nrrd") == NAMED
    good("convert", "--labels", "total.nii", "same.nii", cwd=folder)
    assert [e.get_code() for e in nibabel.load(folder / "same.nii").header.extensions] == [0]
    good("labels", "total.nii", "-o", "kept.nii", "--keep", "2", cwd=folder)
    assert workbench(folder / "kept.nii") == {2: NAMED[2]}


def test_nifti_s_other_extensions_stay(folder):
    """A table of names is put first, an outdated one goes, all else is copied byte by byte."""
    image = nibabel.load(folder / "labels.nii.gz")
    for code, text in ((6, b"made by hand"), (30, b"<CaretExtension><Comment>no table</Comment></CaretExtension>"), (44, b"{}")):
        image.header.extensions.append(nibabel.nifti1.Nifti1Extension(code, text))
    nibabel.save(image, folder / "old.nii")
    (folder / "names.tsv").write_bytes(FILES["dseg.tsv"])
    (folder / "other.tsv").write_text("index\tname\n1\tother\n")
    good("convert", "--labels", "old.nii", "new.nii", "--label-table", "names.tsv", cwd=folder)
    good("convert", "--labels", "new.nii", "newer.nii", "--label-table", "other.tsv", cwd=folder)
    before = [(e.get_code(), raw(e)) for e in image.header.extensions]
    for name, first in (("new.nii", "left lobe"), ("newer.nii", "other")):
        after = [(e.get_code(), raw(e)) for e in nibabel.load(folder / name).header.extensions]
        assert [code for code, _ in after] == [30, 6, 30, 44] and [c.rstrip(b"\0") for _, c in after[1:]] == [c for _, c in before]
        assert first.encode() in after[0][1]


def test_names_follow_their_labels_only(folder):
    """What numbers anew, or is no label, has no names of the volume that it was made of."""
    (folder / "names.tsv").write_bytes(FILES["dseg.tsv"])
    good("convert", "--labels", "labels.nii.gz", "named.nii", "--label-table", "names.tsv", cwd=folder)
    good("growcut", "image.nii.gz", "named.nii", "-o", "grown.nii", "--tie", "tie.nii", cwd=folder)
    assert workbench(folder / "grown.nii") == NAMED and workbench(folder / "tie.nii") == {}
    assert json.loads(good("info", "--json", "named.nii", cwd=folder).stdout)["label_names"] == {str(n): name for n, (name, _) in NAMED.items()}
    good("labels", "named.nii", "-o", "kept.nii", "--keep", "2", cwd=folder)
    assert workbench(folder / "kept.nii") == {2: NAMED[2]}
    good("components", "named.nii", "-o", "pieces.nii", "--equal", cwd=folder)
    assert workbench(folder / "pieces.nii") == {}
    good("components", "named.nii", "-o", "same.nii", "--equal", "--label-of", "input", cwd=folder)
    assert workbench(folder / "same.nii") == NAMED
    good("threshold", "named.nii", "-o", "above.nii", "--above", "1", cwd=folder)
    good("maxima", "named.nii", "-o", "maxima.nii", cwd=folder)
    good("crop", "named.nii", "-o", "box.nii", "--around", "named.nii", cwd=folder)
    assert [workbench(folder / n) for n in ("above.nii", "maxima.nii", "box.nii")] == [{}, {}, NAMED]
    (folder / "a.recipe").write_text("labels named.nii -o @a --keep 1,2\nlabels @a -o out.nii --keep 1\n")
    good("run", "a.recipe", cwd=folder)
    assert workbench(folder / "out.nii") == {1: NAMED[1]}


HOSTILE = [
    ("a.ctbl", b"", "names no label"),
    ("a.ctbl", b"1 liver 300 0 0 255\n", "line 1"),
    ("a.ctbl", b"# table\nliver 1 2 3\n", "line 2"),
    ("a.ctbl", b"1 li\0ver 1 2 3\n", "a byte 0"),
    ("a.csv", b"Name,Color_R\nx,1\n", "LabelValue"),
    ("a.csv", b"LabelValue,Name\n1.5,x\n", "line 2"),
    ("a.csv", b"LabelValue,Name\n4294967296,x\n", "line 2"),
    ("a.csv", b"LabelValue,Name\n-1,x\n", "line 2"),
    ("a.label", b"1 1 2 3 1 1\n", "line 1"),
    ("a.label", b'1 1 2 3 nan 1 1 "x"\n', "line 1"),
    ("a.lut", b"0 Unknown 0 0 0 0\n", "names no label"),
    ("a.tsv", b"number\tname\n1\tx\n", "index"),
    ("a.tsv", b"index\tname\tcolor\n1\tx\tred\n", "line 2"),
    ("a.tsv", b"\xff\xfe\x00i", "save it as text in UTF-8"),
]


@pytest.mark.parametrize("name, content, says", HOSTILE)
def test_bad_tables(folder, name, content, says):
    (folder / name).write_bytes(content)
    run = lobule("convert", "--labels", "labels.nii.gz", "out.seg.nrrd", "--label-table", name, cwd=folder)
    assert_one_line(run, 65, says)
    assert not (folder / "out.seg.nrrd").exists()


def test_a_million_rows_backwards(folder):
    rows = "".join(f"{n}\tn\n" for n in range(1 << 20, 0, -1))
    (folder / "a.tsv").write_text("index\tname\n" + rows)
    good("convert", "--labels", "labels.nii.gz", "out.seg.nrrd", "--label-table", "a.tsv", cwd=folder, timeout=30)
    (folder / "a.tsv").write_text("index\tname\n" + rows + f"{(1 << 20) + 1}\tn\n")
    assert_one_line(lobule("convert", "--labels", "labels.nii.gz", "b.seg.nrrd", "--label-table", "a.tsv", cwd=folder), 65, "a million")


def test_bad_use(folder):
    (folder / "a.tsv").write_bytes(FILES["dseg.tsv"])
    assert_one_line(lobule("convert", "labels.nii.gz", "out.nii", "--label-table", "a.tsv", cwd=folder), 64, "--labels")
    assert_one_line(lobule("convert", "--labels", "labels.nii.gz", "out.nii", "--write-label-table", "a.json", cwd=folder), 64, ".ctbl")
    assert_one_line(lobule("convert", "--labels", "labels.nii.gz", "out.nii", "--label-table", "b.tsv", cwd=folder), 66, "b.tsv")
    assert_one_line(lobule("convert", "--labels", "labels.nii.gz", "out.nii", "--write-label-table", "b.tsv", cwd=folder), 65, "no label has a name")
    run = lobule("convert", "--labels", "labels.nii.gz", "out.nii", "--label-table", "a.tsv", "--write-label-table", "a.tsv", cwd=folder)
    assert_one_line(run, 64, "a name of its own")
