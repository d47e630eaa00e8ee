#!/usr/bin/env bash
# Make the documentation site in build/docs/site, to open without a network: pages, commands, the C and the Python library, in
# one theme with one search. usage: docs.sh [PROGRAM INCLUDE_FOLDER]   those of a build that is there; left out: one is made, as
# fast as can be compiled
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
out=$PWD/build/docs
rm -rf "$out/source" "$out/site"
mkdir -p "$out/source"

# The site's own tools come while the program is compiled.
tools() {
    [ -x "$out/tools/bin/mkdocs" ] && return
    python3 -m venv "$out/tools"
    "$out/tools/bin/pip" install -q --disable-pip-version-check 'mkdocs>=1.6,<2' 'mkdocs-material>=9.5,<10'
}
tools &
tools=$!
program=${1:-} include=${2:-}
if [ -z "$program" ]; then
    log=$(cmake --preset default -B "$out/program" -DLOBULE_CUDA=OFF -DLOBULE_TESTS=OFF -DCMAKE_BUILD_TYPE=None \
        -DCMAKE_C_FLAGS=-O0 2>&1) || { printf '%s\n' "$log" >&2; exit 1; }
    cmake --build "$out/program" --parallel "${LOBULE_JOBS:-$(nproc)}" --target lobule_program >"$out/program.log" ||
        { tail -n 40 "$out/program.log" >&2; exit 1; }
    program=$out/program/tools/lobule include=$out/program/include
fi

# Pages, with what they link to under the same paths.
cp -r README.md CHANGELOG.md CONTRIBUTING.md LICENSE data docs cluster "$out/source/"
install -D -m 644 tests/bench/RESULTS.md "$out/source/tests/bench/RESULTS.md"
install -D -m 644 tests/install/client/components.c "$out/source/tests/install/client/components.c"
install -D -m 644 -t "$out/source/site" packaging/site/search_from_disk.js packaging/site/site.css
sed -i -E 's#\]\(\.\./cluster\)#](../cluster/slurm_array.sh)#; s/^(```[a-z]+) (\S+)$/\1 title="\2"/' "$out"/source/docs/*.md
described=$(python3 packaging/site/pages.py "$program" "$include" python/lobule "$out/source")

wait "$tools"
cat >"$out/mkdocs.yml" <<TEXT
site_name: Lobule
docs_dir: source
site_dir: site
use_directory_urls: false
theme:
  name: material
  font: false
  features: [navigation.tabs, navigation.top, navigation.prune, search.highlight, search.suggest, content.code.copy, toc.follow]
  palette:
    - {media: "(prefers-color-scheme: light)", scheme: default, primary: teal, accent: deep orange,
       toggle: {icon: material/weather-night, name: Dark}}
    - {media: "(prefers-color-scheme: dark)", scheme: slate, primary: teal, accent: deep orange,
       toggle: {icon: material/weather-sunny, name: Light}}
plugins: [search, offline]
extra: {polyfills: ["site/search_from_disk.js?iframe-worker"]}
extra_css: [site/site.css]
markdown_extensions: [tables, attr_list, pymdownx.superfences, toc: {permalink: true}, pymdownx.highlight]
nav:
  - Lobule:
      - What it is: README.md
      - Install: docs/install.md
      - Promises: docs/exactness.md
      - Formats: docs/formats.md
      - Header fields: docs/headers.md
  - Step by step:
      - Strokes: docs/strokes.md
      - Liver from MRI: docs/liver.md
      - Cells: docs/cells.md
      - A cohort: docs/batch.md
      - One large volume: docs/scale.md
      - Labels from finished scans: docs/cohort.md
      - BIDS: docs/bids.md
      - DICOM: docs/dicom.md
      - In 3D Slicer: docs/slicer.md
$described
  - More:
      - Contributing: CONTRIBUTING.md
      - Results: tests/bench/RESULTS.md
      - Changes: CHANGELOG.md
validation:
  links: {not_found: warn, anchors: warn, unrecognized_links: warn}
  nav: {omitted_files: info, not_found: warn}
TEXT
NO_MKDOCS_2_WARNING=1 "$out/tools/bin/mkdocs" build --quiet --strict --config-file "$out/mkdocs.yml"
if grep -rlF --include='*.html' '<p>```' "$out/site" >&2; then
    echo 'docs: these pages have a block of code that is none there' >&2
    exit 1
fi
echo "$out/site/index.html"
