"use strict";
/* Shows a scan and its labels in three planes. All data is in the file itself: #about says what there is, #scan and
   #labels are its voxels, x fastest, little-endian, gzip, base64. Axes run to the right, front and top of the patient. */
(async function () {
  const $ = (id) => document.getElementById(id);
  const about = JSON.parse($("about").textContent);
  const note = (text) => { $("note").textContent += ($("note").textContent ? " " : "") + text; };

  async function voxelsOf(id, bytes) {
    const text = atob($(id).textContent.trim());
    const packed = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) packed[i] = text.charCodeAt(i);
    $(id).textContent = "";
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    const buffer = await new Response(stream).arrayBuffer();
    return new { 1: Uint8Array, 2: Uint16Array, 4: Uint32Array }[bytes](buffer);
  }

  if (typeof DecompressionStream === "undefined") {
    note("This browser is too old to unpack the scan: it takes Chrome 80, Firefox 113, Safari 16.4 or later.");
    return;
  }
  const dims = about.dims, mm = about.spacing_mm, strides = [1, dims[0], dims[0] * dims[1]];
  const count = dims[0] * dims[1] * dims[2], rows = about.labels;
  let scan, labels;
  try {
    scan = await voxelsOf("scan", about.scan_bytes);
    labels = rows.length ? await voxelsOf("labels", about.label_bytes) : null;
  } catch (e) {
    note("The voxels in this page are damaged: " + e);
    return;
  }

  /* ---- what is seen ---- */

  const PLANES = [
    { name: "axial", across: 2, right: 0, down: 1, sides: "RLAP" },
    { name: "coronal", across: 1, right: 0, down: 2, sides: "RLSI" },
    { name: "sagittal", across: 0, right: 1, down: 2, sides: "APSI" },
  ].filter((p) => Math.min(dims[p.right], dims[p.down]) > 1 || count === 1 || dims[p.across] === 1);
  const at = about.at.slice(), win = about.window.slice();
  const oriented = about.oriented, flipRight = oriented && !about.neurological;
  const shown = new Uint8Array(rows.length + 1), red = shown.slice(), green = shown.slice(), blue = shown.slice();
  rows.forEach((row, i) => {
    const c = parseInt(row.colour.slice(1), 16);
    shown[i + 1] = row.shown ? 1 : 0;
    red[i + 1] = c >> 16; green[i + 1] = c >> 8 & 255; blue[i + 1] = c & 255;
  });
  const grey = new Uint8ClampedArray(about.scan_bytes === 1 ? 256 : 65536);

  function setGrey() {
    const wide = win[1] - win[0];
    for (let q = 0; q < grey.length; q++)
      grey[q] = Math.round(255 * (about.offset + about.step * q - win[0]) / wide);
  }

  /* A slice's voxels from left to right and top to bottom, as pixels of their own. */
  function eachPixel(p, fill) {
    const w = dims[p.right], h = dims[p.down], image = new ImageData(w, h);
    const dx = flipRight ? -strides[p.right] : strides[p.right], dy = oriented ? -strides[p.down] : strides[p.down];
    const first = at[p.across] * strides[p.across] + (flipRight ? (w - 1) * strides[p.right] : 0) +
                  (oriented ? (h - 1) * strides[p.down] : 0);
    for (let y = 0, to = 0; y < h; y++)
      for (let x = 0, v = first + y * dy; x < w; x++, v += dx, to += 4) fill(image.data, to, v, x, y, dx, dy, w, h);
    return image;
  }

  function greyPixel(data, to, v) {
    const colour = about.channels === 3;
    data[to] = grey[scan[v]];
    data[to + 1] = colour ? grey[scan[v + count]] : data[to];
    data[to + 2] = colour ? grey[scan[v + 2 * count]] : data[to];
    data[to + 3] = 255;
  }

  function labelPixels(p) {
    const alpha = Math.round(255 * $("opacity").value / 100), outlines = $("outlines").checked;
    return eachPixel(p, (data, to, v, x, y, dx, dy, w, h) => {
      const l = labels[v];
      if (!shown[l]) return;
      const edge = outlines && ((x > 0 && labels[v - dx] !== l) || (x < w - 1 && labels[v + dx] !== l) ||
                                (y > 0 && labels[v - dy] !== l) || (y < h - 1 && labels[v + dy] !== l));
      data[to] = red[l]; data[to + 1] = green[l]; data[to + 2] = blue[l];
      data[to + 3] = edge ? 255 : alpha;
    });
  }

  const sheet = document.createElement("canvas");
  function lay(context, image, smooth) {
    sheet.width = image.width;
    sheet.height = image.height;
    sheet.getContext("2d").putImageData(image, 0, 0);
    context.imageSmoothingEnabled = smooth;
    context.imageSmoothingQuality = "high";
    context.drawImage(sheet, 0, 0, context.canvas.width, context.canvas.height);
  }

  function write(context, text, x, y, align) {
    context.textAlign = align;
    context.lineWidth = 3;
    context.strokeStyle = "#000";
    context.strokeText(text, x, y);
    context.fillText(text, x, y);
  }

  function decorate(p, context, scale) {
    const { width, height } = context.canvas;
    const x = (at[p.right] + .5) / dims[p.right] * width, y = (at[p.down] + .5) / dims[p.down] * height;
    if ($("lines").checked) {
      context.fillStyle = "rgba(150, 200, 255, .45)";
      context.fillRect(Math.floor(flipRight ? width - x : x), 0, 1, height);
      context.fillRect(0, Math.floor(oriented ? height - y : y), width, 1);
    }
    context.font = "13px system-ui, sans-serif";
    context.textBaseline = "middle";
    if (oriented) {
      const [a, b] = about.neurological ? [p.sides[1], p.sides[0]] : p.sides;
      context.fillStyle = "#ffd666";
      write(context, a, 5, height / 2, "left");
      write(context, b, width - 5, height / 2, "right");
      write(context, p.sides[2], width / 2, 10, "center");
      write(context, p.sides[3], width / 2, height - 10, "center");
    }
    const length = [5, 2, 1].map((d) => d * 10 ** Math.floor(Math.log10(width / scale / 3)))
      .find((l) => l * scale <= width / 3);
    if (length) {
      context.fillStyle = "#fff";
      context.fillRect(8, height - 8, Math.round(length * scale), 3);
      write(context, length >= 1 ? length + " mm" : +(1000 * length).toPrecision(1) + " \u00b5m", 8, height - 17, "left");
    }
  }

  let scale = 1;
  function draw(p) {
    const context = p.canvas.getContext("2d");
    lay(context, eachPixel(p, greyPixel), true);
    if (labels) lay(context, labelPixels(p), scale * Math.min(mm[p.right], mm[p.down]) < 1);
    decorate(p, context, scale);
    p.slider.value = at[p.across];
    p.number.textContent = at[p.across] + 1 + " / " + dims[p.across];
  }

  let waiting = false;
  function drawSoon() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(drawNow);
  }

  function drawNow() {
    waiting = false;
    PLANES.forEach(draw);
    tellPlace();
  }

  /* ---- numbers ---- */

  const short = (x) => Number(x.toPrecision(6)).toString();
  function tellPlace() {
    const v = at[0] + at[1] * strides[1] + at[2] * strides[2];
    const value = (c) => short(about.offset + about.step * scan[v + c * count]);
    const world = about.affine.map((r) => (r[0] * at[0] + r[1] * at[1] + r[2] * at[2] + r[3]).toFixed(1));
    const l = labels ? labels[v] : 0;
    $("place").textContent = (oriented ? "R A S " + world.join(", ") + " mm" : "x y z " + at.join(", ")) + ": " +
      (about.channels === 3 ? [0, 1, 2].map(value).join(", ") : value(0)) + (l ? ", " + titleOf(rows[l - 1]) : "");
  }

  const titleOf = (row) => row.name === null ? "label " + row.label : row.name;

  function volumeText(mm3) {
    const [size, unit] = mm3 >= 10 ? [1e3, "ml"] : mm3 >= .01 ? [1, "mm\u00b3"] : [1e-9, "\u00b5m\u00b3"];
    const value = mm3 / size;
    return (value >= 1000 ? Math.round(value).toLocaleString("en") : value.toPrecision(3)) + " " + unit;
  }

  /* ---- the list of labels ---- */

  const MOST = 300;
  function element(name, text, className) {
    const e = document.createElement(name);
    if (text !== undefined) e.textContent = text;
    if (className) e.className = className;
    return e;
  }

  function cell(row, content) {
    const td = element("td");
    td.append(content);
    row.append(td);
    return td;
  }

  function rowOf(i) {
    const row = rows[i], tr = element("tr"), box = element("input"), swatch = element("span", "", "swatch");
    tr.dataset.label = row.label;
    box.type = "checkbox";
    box.checked = shown[i + 1] === 1;
    box.setAttribute("aria-label", "Show " + titleOf(row));
    box.addEventListener("change", () => { shown[i + 1] = box.checked ? 1 : 0; drawSoon(); });
    swatch.style.background = row.colour;
    const go = element("button", titleOf(row));
    go.type = "button";
    go.addEventListener("click", () => goTo(i + 1));
    cell(tr, box);
    cell(tr, swatch);
    cell(tr, row.label).className = "number";
    cell(tr, go);
    cell(tr, volumeText(row.mm3)).className = "number volume";
    return tr;
  }

  function list() {
    const text = $("search").value.trim().toLowerCase();
    const found = [];
    rows.forEach((row, i) => {
      if (!text || String(row.label) === text || titleOf(row).toLowerCase().includes(text)) found.push(i);
    });
    $("rows").replaceChildren(...found.slice(0, MOST).map(rowOf));
    $("more").textContent = found.length > MOST ? MOST + " of " + found.length + " labels; search for others" : "";
  }

  function showAll(value) {
    shown.fill(value, 1);
    list();
    drawSoon();
  }

  /* How many voxels of a label each index along an axis has, in a box. */
  function counts(label, axis, low, high) {
    const sums = new Float64Array(dims[axis]), p = [0, 0, 0];
    for (p[2] = low[2]; p[2] < high[2]; p[2]++)
      for (p[1] = low[1]; p[1] < high[1]; p[1]++)
        for (p[0] = low[0]; p[0] < high[0]; p[0]++)
          if (labels[p[0] + p[1] * strides[1] + p[2] * strides[2]] === label) sums[p[axis]]++;
    return sums;
  }

  /* To the slice with most of a label, the row of it with most, and there to the middle of what there is. */
  function goTo(label) {
    const low = [0, 0, 0], high = dims.slice();
    for (const axis of [2, 1]) {
      const sums = counts(label, axis, low, high), most = sums.reduce((a, b) => Math.max(a, b), 0);
      if (most === 0) {
        $("place").textContent = titleOf(rows[label - 1]) + " has no voxel at this resolution";
        return;
      }
      low[axis] = sums.indexOf(most);
      high[axis] = low[axis] + 1;
    }
    const places = [], row = counts(label, 0, low, high);
    row.forEach((n, x) => { if (n > 0) places.push(x); });
    at[0] = places[places.length >> 1];
    at[1] = low[1];
    at[2] = low[2];
    drawSoon();
  }

  /* ---- hands on ---- */

  function move(axis, to) {
    at[axis] = Math.min(dims[axis] - 1, Math.max(0, to));
    drawSoon();
  }

  function point(p, event) {
    const box = p.canvas.getBoundingClientRect();
    const x = Math.floor((event.clientX - box.left) / box.width * dims[p.right]);
    const y = Math.floor((event.clientY - box.top) / box.height * dims[p.down]);
    move(p.right, flipRight ? dims[p.right] - 1 - x : x);
    move(p.down, oriented ? dims[p.down] - 1 - y : y);
  }

  function setWindow(low, high) {
    if (low < high) {
      win[0] = low;
      win[1] = high;
      setGrey();
    }
    $("low").value = short(win[0]);
    $("high").value = short(win[1]);
    drawSoon();
  }

  function drag(p, event) {
    if (!event.shiftKey) return point(p, event);
    const step = (win[1] - win[0]) / 200, wider = event.movementX * step, up = event.movementY * step;
    setWindow(win[0] + up - wider, win[1] + up + wider);
  }

  const KEYS = { ArrowLeft: ["right", -1], ArrowRight: ["right", 1], ArrowUp: ["down", -1], ArrowDown: ["down", 1],
                 PageDown: ["across", -1], PageUp: ["across", 1] };
  function press(p, event) {
    const key = KEYS[event.key];
    if (!key) return;
    const turned = key[0] === "right" ? flipRight : key[0] === "down" && oriented;
    event.preventDefault();
    move(p[key[0]], at[p[key[0]]] + (turned ? -key[1] : key[1]));
  }

  function addPlane(p) {
    const figure = element("figure"), caption = element("figcaption");
    p.canvas = element("canvas");
    p.canvas.id = p.name;
    p.canvas.tabIndex = 0;
    p.canvas.setAttribute("role", "img");
    p.canvas.setAttribute("aria-label", p.name + " slice; arrow keys move the lines, Page Up and Down the slice");
    p.slider = element("input");
    Object.assign(p.slider, { type: "range", min: 0, max: dims[p.across] - 1 });
    p.slider.setAttribute("aria-label", p.name + " slice");
    p.number = element("span");
    caption.append(oriented ? p.name : "slice", p.slider, p.number);
    figure.append(p.canvas, caption);
    $("views").append(figure);
    p.slider.addEventListener("input", () => move(p.across, Number(p.slider.value)));
    p.canvas.addEventListener("pointerdown", (e) => { p.canvas.setPointerCapture(e.pointerId); drag(p, e); });
    p.canvas.addEventListener("pointermove", (e) => { if (e.buttons) drag(p, e); });
    p.canvas.addEventListener("keydown", (e) => press(p, e));
    p.canvas.addEventListener("wheel", (e) => {
      e.preventDefault();
      move(p.across, at[p.across] - Math.sign(e.deltaY));
    }, { passive: false });
  }

  /* One scale for all planes: two beside each other and, with the third, two above each other fit in the window. */
  function fit() {
    const side = (a) => dims[a] * mm[a], three = PLANES.length > 1;
    const wide = Math.max(...PLANES.map((p) => side(p.right))) * (three ? 2 : 1);
    const tall = Math.max(...PLANES.map((p) => side(p.down))) + (three ? side(2) : 0);
    const room = Math.max(240, $("views").clientWidth - 24);
    scale = Math.min(room / wide, Math.max(240, innerHeight - 170) / tall);
    for (const p of PLANES) {
      p.canvas.width = Math.max(1, Math.round(dims[p.right] * mm[p.right] * scale));
      p.canvas.height = Math.max(1, Math.round(dims[p.down] * mm[p.down] * scale));
    }
    drawNow();
  }

  PLANES.forEach(addPlane);
  if (about.note) note(about.note);
  $("low").addEventListener("change", () => setWindow(Number($("low").value), win[1]));
  $("high").addEventListener("change", () => setWindow(win[0], Number($("high").value)));
  $("search").addEventListener("input", list);
  $("all").addEventListener("click", () => showAll(1));
  $("none").addEventListener("click", () => showAll(0));
  for (const id of ["opacity", "outlines", "lines"]) $(id).addEventListener("input", drawSoon);
  $("opacity").value = Math.round(100 * about.alpha);
  $("outlines").checked = about.outlines;
  if (!rows.length) $("label-controls").remove(); else list();
  setWindow(win[0], win[1]);
  addEventListener("resize", fit);
  fit();
  document.documentElement.dataset.state = "ready";
})();
