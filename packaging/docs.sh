#!/usr/bin/env bash
# Make the documentation site in build/docs/site, to open without a network: pages, commands, the C and the Python library.
# usage: docs.sh [BUILD]   after a build there (default: build/default)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
out=$PWD/build/docs
build=$PWD/${1:-build/default}
lobule=$build/tools/lobule
rm -rf "$out/source" "$out/site"
mkdir -p "$out/source/commands"

[ -x "$out/tools/bin/mkdocs" ] || {
    python3 -m venv "$out/tools"
    "$out/tools/bin/pip" install -q 'mkdocs>=1.6,<2' 'pdoc>=14,<17' numpy typing_extensions
}

# Pages, with what they link to under the same paths.
cp -r README.md CHANGELOG.md CONTRIBUTING.md LICENSE data docs cluster "$out/source/"
install -D -m 644 tests/bench/RESULTS.md "$out/source/tests/bench/RESULTS.md"
install -D -m 644 tests/install/client/components.c "$out/source/tests/install/client/components.c"
sed -i 's#](../cluster)#](../cluster/slurm_array.sh)#' "$out"/source/docs/{batch,commands}.md

# Commands, as they describe themselves.
commands=$("$lobule" --help | sed -n 's/^  \([a-z]*\)  .*/\1/p')
for command in $commands; do
    { printf '# lobule %s\n\n```text\n' "$command"; "$lobule" "$command" --help; echo '```'; } \
        >"$out/source/commands/$command.md"
done

cat >"$out/mkdocs.yml" <<TEXT
site_name: Lobule
docs_dir: source
site_dir: site
use_directory_urls: false
theme:
  name: mkdocs
  highlightjs: false
markdown_extensions: [tables, fenced_code, toc]
nav:
  - Lobule: README.md
  - Install: docs/install.md
  - Step by step:
      - Strokes: docs/strokes.md
      - Liver from MRI: docs/liver.md
      - Cells: docs/cells.md
      - A cohort: docs/batch.md
      - BIDS: docs/bids.md
      - Python: docs/python.md
      - In 3D Slicer: docs/slicer.md
  - Promises: docs/exactness.md
  - Formats:
      - What is read and written: docs/formats.md
      - Header fields: docs/headers.md
  - Commands:
      - By example: docs/commands.md
$(for command in $commands; do echo "      - $command: commands/$command.md"; done)
  - Libraries:
      - C: c/index.html
      - Python: python/lobule.html
  - More:
      - Contributing: CONTRIBUTING.md
      - Results: tests/bench/RESULTS.md
      - Changes: CHANGELOG.md
validation:
  links: {not_found: warn, anchors: warn, unrecognized_links: warn}
  nav: {omitted_files: info, not_found: info}
TEXT
"$out/tools/bin/mkdocs" build --quiet --strict --config-file "$out/mkdocs.yml"

# The C library from its installed headers, which are its documentation.
doxygen - <<TEXT
PROJECT_NAME = Lobule
INPUT = $build/include
RECURSIVE = YES
OPTIMIZE_OUTPUT_FOR_C = YES
EXTRACT_ALL = YES
JAVADOC_BANNER = YES
GENERATE_LATEX = NO
OUTPUT_DIRECTORY = $out/site
HTML_OUTPUT = c
QUIET = YES
WARNINGS = NO
TEXT
LOBULE_LIBRARY=$build/liblobule.so LOBULE_PROGRAM=$lobule PYTHONPATH=python \
    "$out/tools/bin/pdoc" -o "$out/site/python" lobule
echo "$out/site/index.html"
