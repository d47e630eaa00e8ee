"""lobule preview --html: what the page holds, and what a real browser shows of it with no network."""

import base64
import gzip
import io
import json
import os
import re

import nibabel
import numpy as np
import pytest
from browser import OFFLINE, Tab, browse, needs_browser
from conftest import AFFINE, ROOT, assert_one_line, good, lobule, save
from skimage.io import imread, imsave

SHAPE = (21, 17, 11)
HOSTILE = "</script><img src=x onerror=alert(1)>&amp;\"'"
NAMES = {2: ("liver", "#e04020"), 5: (HOSTILE, "#20c060"), 9: ("spleen", "#3050f0")}
FLIPPED = np.array([[0, -2.0, 0, 30], [-1.5, 0, 0, 10], [0, 0, 4.0, -5], [0, 0, 0, 1]])


def boxes():
    labels = np.zeros(SHAPE, np.uint8)
    labels[2:9, 3:14, 2:9] = 2
    labels[10:14, 3:14, 2:9] = 5
    labels[16:20, 5:8, 4:6] = 9
    return labels


def scan_of(kind):
    values = np.random.default_rng(1).integers(-900, 1500, SHAPE)
    return {"int16": values.astype(np.int16), "uint8": (values % 200).astype(np.uint8),
            "float32": (values / 7).astype(np.float32), "uint32": (values.astype(np.int64) * 1000 + 1000000).astype(np.uint32)}[kind]  # fmt: skip


def named(folder, labels, affine):
    table = folder / "names.tsv"
    table.write_text("index\tname\tcolor\n" + "".join(f"{i}\t{n}\t{c}\n" for i, (n, c) in NAMES.items()))
    save(labels, folder / "plain.nii", affine)
    good("convert", "plain.nii", "labels.nii", "--labels", "--label-table", table, "--force", cwd=folder)


def make(folder, *options, kind="int16", affine=AFFINE, scale=None, labels=True):
    """The page of a scan with three labels, and what is in it."""
    save(scan_of(kind), folder / "scan.nii", affine, scale)
    if labels:
        named(folder, boxes(), affine)
    good("preview", "scan.nii", *(["labels.nii"] if labels else []), "--html", "page.html", "--force", *options, cwd=folder)
    return read(folder / "page.html")


def data_of(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])


def read(path):
    page = path.read_text(encoding="utf-8")
    about = data_of(page)
    for name, size, channels in (("scan", "scan_bytes", about["channels"]), ("labels", "label_bytes", 1)):
        packed = about.pop(f"{name.removesuffix('s')}_voxels", None)
        if packed:
            array = np.frombuffer(gzip.decompress(base64.b64decode(packed, validate=True)), f"<u{about[size]}")
            about[name] = array.reshape(*about["dims"], channels, order="F").squeeze(-1 if channels == 1 else ())
    return page, about


@pytest.mark.parametrize("kind, affine, scale", [
    ("int16", AFFINE, None), ("int16", FLIPPED, (2.5, -30)), ("uint8", FLIPPED, None), ("uint8", AFFINE, (-1, 0)),
    ("float32", FLIPPED, None), ("uint32", AFFINE, None)])  # fmt: skip
def test_the_page_holds_the_voxels(tmp_path, kind, affine, scale):
    _, about = make(tmp_path, kind=kind, affine=affine, scale=scale)
    scan = nibabel.as_closest_canonical(nibabel.load(tmp_path / "scan.nii"))
    truth = scan.get_fdata()
    values = about["offset"] + about["step"] * about["scan"].astype(float)
    step = np.ptp(truth) / 65535 / 2 if kind in ("float32", "uint32") else 0
    np.testing.assert_allclose(values, truth, rtol=1e-9, atol=step * 1.001 + 1e-9)
    np.testing.assert_allclose(about["affine"], scan.affine[:3], atol=1e-4)
    labels = nibabel.as_closest_canonical(nibabel.load(tmp_path / "plain.nii")).get_fdata()
    assert (np.array([0, 2, 5, 9])[about["labels"]] == labels).all()
    assert about["note"] == "" and about["oriented"]


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8", "u8"])
def test_extreme_values(tmp_path, dtype):
    """The largest numbers that there are, or near them, beside NaN and infinity, keep their order and places."""
    kind = np.dtype(dtype)
    ends = np.finfo(kind) if kind.kind == "f" else np.iinfo(kind)
    values = np.full((5, 4, 3), 7, kind)
    values[0, 0, 0], values[1, 0, 0] = ends.min, ends.max
    if kind.kind == "f":
        values[:4, 0, 0] = ends.min * 0.7, ends.max * 0.7, np.nan, np.inf
    save(values, tmp_path / "scan.nii")
    good("preview", "scan.nii", "--html", "page.html", cwd=tmp_path)
    _, about = read(tmp_path / "page.html")
    assert about["scan"][0, 0, 0] == 0 and about["scan"][1, 0, 0] == 65535
    assert np.isfinite([about["offset"], about["step"], *about["window"]]).all() and about["step"] > 0
    if kind.kind == "f":
        assert about["scan"][2, 0, 0] == about["scan"][3, 0, 0] == 0


def test_memory_is_bounded(tmp_path):
    save(np.zeros((64, 64, 64), np.int16), tmp_path / "scan.nii")
    assert_one_line(lobule("preview", "scan.nii", "--html", "p.html", "--max-memory", "700KiB", cwd=tmp_path), 75, "p.html: needs")
    assert not (tmp_path / "p.html").exists()


def rows_of(page):
    return data_of(page)["labels"]


def test_labels_come_with_names_colours_and_volumes(tmp_path):
    page, _ = make(tmp_path, "--hide", "5")
    labels = boxes()
    for row, (value, (name, colour)) in zip(rows_of(page), NAMES.items(), strict=True):
        assert (row["label"], row["name"], row["colour"], row["shown"]) == (value, name, colour, value != 5)
        assert row["mm3"] == pytest.approx((labels == value).sum() * 1.5 * 1.5 * 2.5)
    assert "<img" not in page and page.count("</script>") == page.count("<script")
    assert "://" not in page and "url(" not in page and "@import" not in page
    assert re.findall(r"\bsrc=", page.replace(HOSTILE.replace("<", "\\u003c").replace('"', '\\"'), "")) == []


def test_threads_do_not_matter(tmp_path):
    make(tmp_path, "--threads", 1)
    once = (tmp_path / "page.html").read_bytes()
    make(tmp_path, "--threads", 3)
    assert once == (tmp_path / "page.html").read_bytes()


@pytest.mark.skipif("LOBULE_SANITIZED" in os.environ, reason="the optimised build shows it; here it takes a minute")
def test_a_huge_scan_is_shown_in_blocks(tmp_path):
    shape = (420, 400, 210)
    scan, labels = np.zeros(shape, np.uint8), np.zeros(shape, np.uint8)
    scan[200:, :, :] = 100
    labels[100:300, 100:300, 50:150] = 7
    labels[10, 10, 10] = 8  # smaller than a block
    affine = np.diag([1, 1.5, 1.5, 1])
    save(scan, tmp_path / "scan.nii", affine)
    save(labels, tmp_path / "labels.nii", affine)
    done = good("preview", "scan.nii", "labels.nii", "--html", "page.html", "--report", "r.json", cwd=tmp_path)
    _, about = read(tmp_path / "page.html")
    assert json.loads((tmp_path / "r.json").read_text())["results"]["page"] == {"voxels": [210, 400, 210], "block": [2, 1, 1]}
    assert "420 x 400 x 210 voxels: one voxel here is 2 x 1 x 1" in about["note"] and "2 x 1 x 1" in done.stderr
    assert ((about["labels"] == 1) == (labels[::2] == 7)).all() and not (about["labels"] == 2).any()
    assert [x["label"] for x in rows_of((tmp_path / "page.html").read_text())] == [7, 8]
    assert set(np.unique(about["scan"][:98])) == {0} and set(np.unique(about["scan"][102:])) == {100}
    np.testing.assert_allclose(np.array(about["affine"])[:, 3], [0.5, 0, 0])


def test_what_is_refused(tmp_path):
    save(scan_of("int16"), tmp_path / "scan.nii")
    save(np.ones((9, 9, 9), np.uint8), tmp_path / "other.nii", np.diag([9, 9, 9, 1]))
    for code, part, arguments in (
        (65, "other.nii", ["other.nii", "--html", "p.html"]),
        (64, ".html", ["--html", "p.png"]),
        (64, "--html", []),
        (64, "--mip", ["--html", "p.html", "--mip"]),
        (64, "--montage", ["--html", "p.html", "--montage", "4"]),
        (73, "no", ["--html", "no/p.html"]),
        (64, "html", ["--html", "p.html", "-o", "p.html"]),
    ):
        assert_one_line(lobule("preview", "scan.nii", *arguments, cwd=tmp_path), code, part)
    assert sorted(x.name for x in tmp_path.iterdir()) == ["other.nii", "scan.nii"]
    (tmp_path / "p.html").write_text("kept")
    assert_one_line(lobule("preview", "scan.nii", "--html", "p.html", cwd=tmp_path), 72, "p.html")
    assert (tmp_path / "p.html").read_text() == "kept"


# ---- in a browser ----

READY = """
const $ = (id) => document.getElementById(id), root = document.documentElement;
for (let i = 0; i < 500 && root.dataset.state !== "ready"; i++) await new Promise((r) => setTimeout(r, 10));
if (root.dataset.state !== "ready") throw "not ready: " + $("note").textContent;
const frame = () => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r)));
const set = async (id, value, type) => { $(id)[type ? type : "value"] = value;
  for (const e of ["input", "change"]) $(id).dispatchEvent(new Event(e)); await frame(); };
const pixels = (name) => { const c = $(name), d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
  return { width: c.width, height: c.height, at: (x, y) => [...d.slice(4 * (x + y * c.width), 4 * (x + y * c.width) + 3)] }; };
/* The colour in the middle of every voxel of a view of w x h. */
const middles = (name, w, h) => { const p = pixels(name), all = [];
  for (let y = 0; y < h; y++) for (let x = 0; x < w; x++)
    all.push(p.at(Math.floor((x + .5) * p.width / w), Math.floor((y + .5) * p.height / h)));
  return all; };
"""


def seen(labels, axis, index, convention):
    """Labels of a slice as they lie in the picture: [row][column], patient's right and front at the left."""
    turned = np.take(labels, index, axis).T[::-1]
    return turned[:, ::-1] if convention == "radiological" else turned


@needs_browser
@pytest.mark.parametrize("affine, convention", [(AFFINE, "radiological"), (FLIPPED, "neurological")])
def test_colours_lie_where_labels_are(tmp_path, affine, convention):
    page, about = make(tmp_path, "--hide", "9", "--convention", convention, affine=affine)
    nx, ny, nz = about["dims"]
    sizes = {"axial": (nx, ny), "coronal": (nx, nz), "sagittal": (ny, nz)}
    out = browse(page, READY + """
      await set("lines", false, "checked"); await set("outlines", false, "checked"); await set("opacity", 100);
      out.seen = {};
      for (const [name, w, h] of SIZES) out.seen[name] = middles(name, w, h);
      document.querySelectorAll("#rows input")[0].click(); await frame();
      out.without = middles("axial", SIZES[0][1], SIZES[0][2]);
      $("none").click(); await frame();
      out.none = middles("axial", SIZES[0][1], SIZES[0][2]);
      out.resources = performance.getEntriesByType("resource").length;
      const blocked = new Promise((r) => addEventListener("securitypolicyviolation", (e) => r(e.blockedURI)));
      new Image().src = "http://example.org/x.png";
      out.blocked = await blocked;
    """.replace("SIZES", json.dumps([[k, *v] for k, v in sizes.items()])), tmp_path, flags=OFFLINE)
    labels = nibabel.as_closest_canonical(nibabel.load(tmp_path / "plain.nii")).get_fdata().astype(int)
    colours = {v: tuple(int(c[i : i + 2], 16) for i in (1, 3, 5)) for v, (_, c) in NAMES.items()}
    letters = 0
    for name, axis in (("axial", 2), ("coronal", 1), ("sagittal", 0)):
        truth = seen(labels, axis, about["at"][axis], convention)
        got = np.array(out["seen"][name]).reshape(*truth.shape, 3)
        for value in (2, 5):
            match = (got == colours[value]).all(2)
            assert not match[truth != value].any()
            letters += (truth == value).sum() - match.sum()  # letters and the bar may cover a few
            assert match.sum() >= 0.9 * (truth == value).sum()
        assert not (got == colours[9]).all(2).any()
    assert letters <= 12
    without, none = (np.array(out[k]) for k in ("without", "none"))
    assert not (without == colours[2]).all(1).any() and (without == colours[5]).all(1).any()
    assert not (none == colours[5]).all(1).any()
    assert out["resources"] == 0 and out["blocked"].startswith("http://example.org")


@needs_browser
def test_hands_on(tmp_path):
    page, _ = make(tmp_path, "--at", "10,8,5", "--window", "0,1000")
    out = browse(page, READY + """
      const slices = () => ["axial", "coronal", "sagittal"].map((id) => $(id).closest("figure").querySelector("span").textContent);
      out.first = slices(); out.place = $("place").textContent;
      out.titles = [...document.querySelectorAll("#rows button")].map((b) => b.textContent);
      out.volumes = [...document.querySelectorAll("#rows td.volume")].map((c) => c.textContent);
      $("axial").dispatchEvent(new WheelEvent("wheel", { deltaY: -100, cancelable: true })); await frame(); out.wheel = slices();
      $("axial").dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowLeft" })); await frame(); out.key = slices();
      const box = $("axial").getBoundingClientRect();
      const where = { clientX: box.left + .5 / 21 * box.width, clientY: box.top + .5 / 17 * box.height, pointerId: 1 };
      $("axial").setPointerCapture = () => {};
      $("axial").dispatchEvent(new PointerEvent("pointerdown", where)); await frame(); out.point = slices();
      document.querySelectorAll("#rows button")[2].click(); await frame(); out.go = slices(); out.goPlace = $("place").textContent;
      await set("search", "liv"); out.found = [...document.querySelectorAll("#rows tr")].map((r) => r.dataset.label);
      await set("lines", false, "checked"); $("none").click(); await set("high", 1); await set("low", -5000);
      const part = () => middles("coronal", 21, 11).filter((_, i) => i % 21 > 2 && i % 21 < 9 && i > 42 && i < 84);  // no letters
      out.grey = part().every((c) => c[0] === c[1] && c[1] === c[2]);
      const before = part(); await set("low", 0.5); out.changed = String(before) !== String(part());
      await set("low", 7); out.kept = $("low").value;
      out.foreign = document.querySelectorAll("img").length;
      out.unnamed = [...document.querySelectorAll("button, input")].filter((e) =>
        !(e.textContent.trim() || e.getAttribute("aria-label") || (e.labels && e.labels.length))).length;
    """, tmp_path, flags=OFFLINE)
    scan = scan_of("int16")
    assert out["first"] == ["6 / 11", "9 / 17", "11 / 21"]
    assert out["place"] == f"R A S -5.0, -18.0, 52.5 mm: {scan[10, 8, 5]}, {HOSTILE}"
    assert out["titles"] == ["liver", HOSTILE, "spleen"] and out["volumes"][0] == "3.03 ml"
    assert out["wheel"] == ["7 / 11", "9 / 17", "11 / 21"]
    assert out["key"] == ["7 / 11", "9 / 17", "12 / 21"]  # the patient's right is at the left
    assert out["point"] == ["7 / 11", "17 / 17", "21 / 21"]
    assert out["goPlace"].endswith("spleen") and out["go"] == ["5 / 11", "6 / 17", "19 / 21"]
    assert out["found"] == ["2"] and out["grey"] and out["changed"] and out["kept"] == "0.5"
    assert out["foreign"] == 0 and out["unnamed"] == 0


WAIT = """
for (let i = 0; i < 6000 && document.documentElement.dataset.body !== "ready"; i++) await new Promise((r) => setTimeout(r, 10));
if (document.documentElement.dataset.body !== "ready") throw "no body";
"""


def window(tab, wide, tall, scheme="dark"):
    """The screenshot of a window of this size once all is drawn."""
    tab.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    tab.ask("Emulation.setDeviceMetricsOverride", width=wide, height=tall, deviceScaleFactor=1, mobile=False)
    tab.run("await new Promise((r) => setTimeout(r, 200));" + READY + WAIT)
    return imread(io.BytesIO(tab.screenshot()))[..., :3].astype(int)


@needs_browser
def test_a_screenshot_shows_the_labels(tmp_path):
    """The window itself, not its canvases: each label covers as much of it as its voxels take."""
    make(tmp_path, "--alpha", 1, "--contour", 0, "--at", "11,6,5")
    with Tab((tmp_path / "page.html").as_uri(), tmp_path, OFFLINE) as tab:
        pixels = window(tab, 1400, 1000)
        areas = {name: tab.run(f"const b = document.getElementById('{name}').getBoundingClientRect(); return [b.x, b.y, b.width, b.height];")
                 for name in ("axial", "coronal", "sagittal")}  # fmt: skip
    labels = boxes()
    cuts = {"axial": (labels[:, :, 5], 1.5, 1.5), "coronal": (labels[:, 6], 1.5, 2.5), "sagittal": (labels[11], 1.5, 2.5)}
    for name, (cut, across, down) in cuts.items():
        x, y, wide, tall = map(round, areas[name])
        view = pixels[y : y + tall, x : x + wide]
        scale = wide / (cut.shape[0] * across)
        assert abs(scale - tall / (cut.shape[1] * down)) < 0.02 * scale  # mm are square
        for value, (_, colour) in NAMES.items():
            want = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
            taken = (cut == value).sum() * across * down * scale**2
            got = (np.abs(view - want).max(2) < 8).sum()
            assert 0.85 * taken <= got <= 1.02 * taken, (name, value, got, taken)


SCREENS = ROOT / "tests/command/screens"


@needs_browser
@pytest.mark.skipif("LOBULE_SANITIZED" in os.environ, reason="the optimised build shows it")
@pytest.mark.parametrize("wide, tall", [(1280, 720), (1920, 1080)])
def test_views_fill_the_window(tmp_path, wide, tall):
    """2 x 2 in light and dark, as the pictures in screens/ have it, small; LOBULE_SCREENS=new makes them anew."""
    good("phantom", "abdomen", "-o", "scan.nii", "--truth", "truth.nii", "--size", "90,64,53", "--spacing", "4,4,4", cwd=tmp_path)
    good("preview", "scan.nii", "truth.nii", "--html", "page.html", cwd=tmp_path)
    shots = {}
    with Tab((tmp_path / "page.html").as_uri(), tmp_path, OFFLINE) as tab:
        for scheme in ("dark", "light"):
            shots[scheme] = window(tab, wide, tall, scheme)
        areas = tab.run("return [...document.querySelectorAll('figure')].map((f) => { const b = f.getBoundingClientRect();"
                        " return [b.x, b.y, b.width, b.height]; });")  # fmt: skip
        assert tab.run("return document.documentElement.scrollHeight <= innerHeight;")
    assert len(areas) == 4
    assert sum(w * h for _, _, w, h in areas) > 0.7 * wide * tall
    for x, y, w, h in areas:
        a, b = (shots[k][round(y) + 4 : round(y + h) - 30, round(x) + 4 : round(x + w) - 4] for k in ("dark", "light"))
        assert (a == b).all() and (a.max(2) > 60).mean() > 0.1
    assert shots["dark"][3, 3].max() < 60 and shots["light"][3, 3].min() > 200
    small = shots["dark"].reshape(180, tall // 180, 320, wide // 320, 3).mean((1, 3)).round().astype(np.uint8)
    name = SCREENS / f"viewer_{wide}x{tall}.png"
    if os.environ.get("LOBULE_SCREENS") == "new":
        imsave(name, small)
    apart = np.abs(small.astype(int) - imread(name)[..., :3])
    assert apart[:, :230].mean() < 3 and apart.mean() < 6, apart.mean()  # letters differ by machine


@needs_browser
def test_labels_in_space(tmp_path):
    """Each label that is shown is seen; the keys turn them; a click on one leads the planes there."""
    make(tmp_path)
    with Tab((tmp_path / "page.html").as_uri(), tmp_path, OFFLINE) as tab:
        tab.run(READY + WAIT)
        seen = """
          const c = document.getElementById("body"), d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data, sums = {};
          NAMES.forEach(([name, r, g, b]) => { let n = 0, x = 0, y = 0;
            for (let i = 0; i < d.length; i += 4) {
              if (d[i + 3] < 255) continue;
              const k = (d[i] * r + d[i + 1] * g + d[i + 2] * b) / Math.hypot(d[i], d[i + 1], d[i + 2]) / Math.hypot(r, g, b);
              if (k > .97) { n++; x += i / 4 % c.width; y += Math.floor(i / 4 / c.width); }
            }
            sums[name] = [n, x / n / c.width, y / n / c.height]; });
          return sums;""".replace("NAMES", json.dumps([[str(v), *(int(c[i : i + 2], 16) for i in (1, 3, 5))] for v, (_, c) in NAMES.items()]))
        front = tab.run(seen)
        assert all(n > 500 for n, _, _ in front.values())
        assert front["2"][1] > front["9"][1]  # low x is the patient's left, at the right from the front
        press = "document.getElementById('body').dispatchEvent(new KeyboardEvent('keydown', { key: 'KEY' }));"
        tab.run((press * 18).replace("KEY", "ArrowLeft") + "await new Promise((r) => setTimeout(r, 50));" + WAIT)
        back = tab.run(seen)
        assert back["2"][1] < back["9"][1]
        assert tab.run("return document.getElementById('body').closest('figure').querySelector('span').textContent;") == "from the back"
        place = tab.run("""
          const c = document.getElementById("body"), b = c.getBoundingClientRect();
          c.dispatchEvent(new PointerEvent("click", { clientX: b.x + AT[0] * b.width, clientY: b.y + AT[1] * b.height }));
          await new Promise((r) => setTimeout(r, 200)); return document.getElementById("place").textContent;
        """.replace("AT", json.dumps(back["2"][1:])))
        assert "liver" in place or "mm" in place
        tab.run("document.querySelectorAll('#rows input')[0].click(); await new Promise((r) => setTimeout(r, 100));" + WAIT)
        assert tab.run(seen)["2"][0] < 50


@needs_browser
def test_keys(tmp_path):
    page, _ = make(tmp_path)
    out = browse(page, READY + """
      const press = async (key, target) => { (target || document.body).dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true })); await frame(); };
      const sizes = () => ["axial", "body", "coronal", "sagittal"].map((id) => $(id).closest("figure").getBoundingClientRect().width);
      out.all = sizes(); await press("3"); out.third = sizes(); await press("3"); out.again = sizes();
      const bar = () => $("axial").width;
      await set("lines", false, "checked"); const before = pixels("axial"); const was = [before.width, before.height];
      out.corner = before.at(3, 3);
      for (let i = 0; i < 6; i++) await press("+");
      const near = pixels("axial"); out.wider = near.width >= was[0]; out.moved = String(near.at(40, 40)) !== String(before.at(40, 40));
      await press("0"); const back = pixels("axial"); out.back = [back.width, back.height].join() === was.join() && String(back.at(40, 40)) === String(before.at(40, 40));
      out.outlines = $("outlines").checked; await press("o"); out.off = $("outlines").checked;
      await press("o", $("search")); out.typed = $("outlines").checked;
    """, tmp_path, flags=OFFLINE)
    assert min(out["all"]) > 200 and out["again"] == out["all"]
    assert out["third"][2] > 1.8 * out["all"][2] and out["third"][:2] == [0, 0] and out["third"][3] == 0
    assert out["wider"] and out["moved"] and out["back"]
    assert out["outlines"] and not out["off"] and not out["typed"]


@needs_browser
@pytest.mark.parametrize("shape", [(20, 30, 1), (1, 1, 1), (20, 30, 1, 1, 3)])
def test_without_labels_and_flat(tmp_path, shape):
    """A scan alone, in one plane where it has no more; colours stay."""
    values = np.random.default_rng(2).integers(0, 255, shape).astype(np.uint8)
    save(values, tmp_path / "scan.nii", np.eye(4))
    good("preview", "scan.nii", "--html", "page.html", "--window", "0,255", cwd=tmp_path)
    page, about = read(tmp_path / "page.html")
    out = browse(page, READY + """
      await set("lines", false, "checked");
      out.views = document.querySelectorAll("canvas").length; out.controls = $("opacity") !== null;
      out.colours = middles("axial", SHAPE).some((c) => c[0] !== c[1] && !(c[0] === 255 && c[1] === 214)); out.note = $("note").textContent;
    """.replace("SHAPE", f"{shape[0]}, {shape[1]}"), tmp_path, flags=OFFLINE)
    assert out["views"] == (3 if shape == (1, 1, 1) else 1) and not out["controls"] and out["note"] == ""
    assert out["colours"] == (len(shape) == 5)
    assert "labels" not in about or about["labels"] == []


@needs_browser
def test_damage_is_told(tmp_path):
    page, _ = make(tmp_path, labels=False)
    found = data_of(page)["scan_voxels"]
    out = browse(page.replace(found, found[:400]), """
      for (let i = 0; i < 100 && !document.getElementById("note").textContent; i++) await new Promise((r) => setTimeout(r, 10));
      out.note = document.getElementById("note").textContent;
    """, tmp_path)  # fmt: skip
    assert "damaged" in out["note"]
