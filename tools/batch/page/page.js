"use strict";
/* Shows the rows of a batch a page at a time; sorts, filters. All data is in the file itself. */
(function () {
  const data = JSON.parse(document.getElementById("rows").textContent);
  const lines = document.getElementById("pictures").textContent.split("\n");
  const pictures = new Map();
  for (const line of lines) {
    const gap = line.indexOf(" ");
    if (gap > 0) pictures.set(Number(line.slice(0, gap)), line.slice(gap + 1));
  }
  const PAGE = 100;
  const ORDER = { failed: 0, cancelled: 1, started: 2, done: 3, skipped: 4 };

  /* A row: [scan, state, exit code, message, seconds, voxels, labels, doubt, volumes, flags, far, report, viewer];
     far holds the indices of volumes that are far or missing, and "doubt". */
  const SCAN = 0, STATE = 1, CODE = 2, MESSAGE = 3, SECONDS = 4, VOXELS = 5, LABELS = 6, DOUBT = 7, VOLUMES = 8,
        FLAGS = 9, FAR = 10, REPORT = 11, VIEWER = 12;
  const number = (digits) => (x) => x === null ? "" : x.toLocaleString("en", { maximumSignificantDigits: digits });
  const columns = [
    { title: "Picture" },
    { title: "Scan", key: (r) => r[SCAN], type: "text" },
    { title: "State", key: (r) => ORDER[r[STATE]] * 1000 + (r[CODE] === null ? 999 : r[CODE]), type: "number" },
    { title: "What to look at", key: (r) => r[FLAGS].length, type: "number", down: true },
    { title: "Seconds", key: (r) => r[SECONDS], type: "number", show: number(3) },
    { title: "Voxels", key: (r) => r[VOXELS], type: "number", show: number(12) },
    { title: "Labels", key: (r) => r[LABELS], type: "number", show: number(12) },
  ];
  if (data.hasDoubt) {
    const percent = number(2);
    columns.push({ title: "In doubt, %", key: (r) => r[DOUBT], type: "number", far: "doubt",
                   show: (x) => x === null ? "" : percent(100 * x) });
  }
  data.columns.forEach((title, i) => {
    columns.push({ title: title, key: (r) => r[VOLUMES][i], type: "number", far: i, show: number(4) });
  });

  let shown = data.rows.map((_, i) => i), first = 0, sorted = -1, upwards = true;
  const head = document.querySelector("#scans thead"), body = document.querySelector("#scans tbody");
  const search = document.getElementById("search"), which = document.getElementById("which");
  const status = document.getElementById("status");
  const back = document.getElementById("back"), next = document.getElementById("next");

  function element(name, text, className) {
    const e = document.createElement(name);
    if (text !== undefined) e.textContent = text;
    if (className) e.className = className;
    return e;
  }

  function pictureCell(i) {
    const cell = element("td");
    if (pictures.has(i)) {
      const image = element("img");
      image.alt = "Three planes of " + data.rows[i][SCAN] + " with its labels";
      image.loading = "lazy";
      image.decoding = "async";
      image.src = "data:image/png;base64," + pictures.get(i);
      cell.append(image);
    }
    return cell;
  }

  function scanCell(row) {
    const cell = element("th", undefined, "scan");
    cell.scope = "row";
    if (row[REPORT]) {
      const link = element("a", row[SCAN]);
      link.href = row[REPORT];
      cell.append(link);
    } else {
      cell.textContent = row[SCAN];
    }
    if (row[VIEWER]) {
      const link = element("a", "look", "viewer");
      link.href = row[VIEWER];
      link.setAttribute("aria-label", "look at " + row[SCAN]);
      cell.append(link);
    }
    return cell;
  }

  function stateCell(row) {
    const code = row[CODE] !== null && row[CODE] !== 0 ? " (" + row[CODE] + ")" : "";
    const cell = element("td");
    cell.append(element("span", row[STATE] + code, row[STATE]));
    return cell;
  }

  function wordsCell(row) {
    const cell = element("td");
    if (row[MESSAGE]) cell.append(element("p", row[MESSAGE], "message"));
    if (row[FLAGS].length) {
      const list = element("ul", undefined, "flags");
      for (const flag of row[FLAGS]) list.append(element("li", flag));
      cell.append(list);
    }
    return cell;
  }

  function numberCell(row, column) {
    const far = column.far !== undefined && row[FAR].includes(column.far);
    const value = column.key(row);
    const cell = element("td", column.show(value === undefined ? null : value), far ? "number far" : "number");
    if (far) cell.append(element("span", value === null ? "missing" : " !"));
    return cell;
  }

  function rowElement(i) {
    const row = data.rows[i], line = element("tr");
    line.dataset.scan = row[SCAN];
    line.append(pictureCell(i), scanCell(row), stateCell(row), wordsCell(row));
    for (const column of columns.slice(4)) line.append(numberCell(row, column));
    return line;
  }

  function draw() {
    const part = shown.slice(first, first + PAGE);
    body.replaceChildren(...part.map(rowElement));
    status.textContent = shown.length === 0 ? "No scan fits."
      : "Scans " + (first + 1) + " to " + (first + part.length) + " of " + shown.length +
        (shown.length < data.rows.length ? " that fit, of " + data.rows.length : "");
    back.disabled = first === 0;
    next.disabled = first + PAGE >= shown.length;
    head.querySelectorAll("th").forEach((cell, c) => {
      if (c === sorted) cell.setAttribute("aria-sort", upwards ? "ascending" : "descending");
      else cell.removeAttribute("aria-sort");
    });
  }

  /* What is missing comes last, either way; of equal ones the order of the table stays. */
  function compare(a, b) {
    const column = columns[sorted], x = column.key(data.rows[a]), y = column.key(data.rows[b]);
    const noX = x === null || x === undefined, noY = y === null || y === undefined;
    if (noX || noY) return noX - noY || a - b;
    const order = column.type === "text" ? collator.compare(x, y) : x - y;
    return (upwards ? order : -order) || a - b;
  }
  const collator = new Intl.Collator("en", { numeric: true });

  function select() {
    const words = search.value.toLowerCase(), kind = which.value;
    shown = [];
    data.rows.forEach((row, i) => {
      const bad = row[STATE] !== "done" && row[STATE] !== "skipped";
      if (kind === "failed" && !bad) return;
      if (kind === "far" && !row[FLAGS].length) return;
      if (words && !(row[SCAN] + "\n" + row[MESSAGE] + "\n" + row[FLAGS].join("\n")).toLowerCase().includes(words)) return;
      shown.push(i);
    });
    if (sorted >= 0) shown.sort(compare);
    first = 0;
    draw();
  }

  const line = element("tr");
  columns.forEach((column, c) => {
    const cell = element("th", undefined, c > 3 ? "number" : "");
    cell.scope = "col";
    if (column.key) {
      const button = element("button", column.title);
      button.type = "button";
      button.addEventListener("click", () => {
        upwards = sorted === c ? !upwards : !column.down;
        sorted = c;
        select();
      });
      cell.append(button);
    } else {
      cell.textContent = column.title;
    }
    line.append(cell);
  });
  head.replaceChildren(line);
  search.addEventListener("input", select);
  which.addEventListener("change", select);
  back.addEventListener("click", () => { first = Math.max(0, first - PAGE); draw(); });
  next.addEventListener("click", () => { first += PAGE; draw(); });
  draw();
})();
