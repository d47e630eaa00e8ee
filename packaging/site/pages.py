#!/usr/bin/env python3
"""Write the pages of the documentation site that describe themselves elsewhere: commands by the program, the C library by its
headers, the Python package by its source. usage: pages.py PROGRAM INCLUDE_FOLDER PACKAGE_FOLDER OUT"""

import ast
import html
import inspect
import json
import re
import subprocess
import sys
import textwrap
from pathlib import Path


def escape(text):
    """HTML of prose: `code` stays code, and names of options are."""
    parts = re.split(r"`([^`\n]+)`", text)
    parts[::2] = [re.sub(r"(?<![\w-])--[a-z][a-z-]*", r"`\g<0>`", part) for part in parts[::2]]
    parts = re.split(r"`([^`\n]+)`", "".join(f"`{part}`" if i % 2 else part for i, part in enumerate(parts)))
    return "".join(f"<code>{html.escape(p)}</code>" if i % 2 else html.escape(p, quote=False) for i, p in enumerate(parts))


def paragraphs(text):
    return "".join(f"<p>{escape(part)}</p>\n" for part in re.split(r"\n+", text.strip()) if part)


def table(heads, rows):
    """Rows are (anchor, cells of HTML)."""
    lines = ["<table>", "<thead><tr>" + "".join(f"<th>{head}</th>" for head in heads) + "</tr></thead>", "<tbody>"]
    for anchor, cells in rows:
        lines.append(f'<tr id="{anchor}">' + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    return "\n".join([*lines, "</tbody>", "</table>", ""])


# ---- commands ----


# an option in the program's help: its letter, its name, what stands for its value
ROW = r"^  (?:-(\w), |    )(--[\w-]+)(?: (\S+))?(?:  |$)"


def told(program, *words):
    return subprocess.run([program, *words], check=True, text=True, stdout=subprocess.PIPE).stdout


def option_row(row, units, letters):
    flag = row.get("command-line-flag")
    name = flag or row["name"]
    text, default = row["description"], ""
    found = re.search(r" \(default: (.*)\)$", text)
    if found:
        text, default = text[: found.start()], found[1]
    if "value-choices" in row:
        value = " ".join(f"<code>{html.escape(str(word))}</code>" for word in row["value-choices"])
    else:
        value = f"<code>{html.escape(units[name])}</code>" if units.get(name) else ""
        ends = [f"{row[end]:g}" if end in row else "" for end in ("minimum", "maximum")]
        if any(ends):
            value += f" {ends[0]} to {ends[1]}" if all(ends) else f" from {ends[0]}" if ends[0] else f" up to {ends[1]}"
    shown = f"<code>{f'-{letters[name]}, ' if name in letters else ''}{html.escape(name)}</code>"
    anchor = name.strip("-").lower()
    cells = [f'<a href="#{anchor}">{shown}</a>', value, html.escape(default), escape(text)]
    return anchor, cells


def command_page(program, name):
    shown, about = told(program, name, "--help"), json.loads(told(program, name, "--boutiques"))
    summary = re.match(r"lobule \S+: (.*)", shown)[1]
    usage = re.search(r"^Usage: (.*)$", shown, re.M)[1]
    examples = re.search(r"^Examples:\n((?:  .*\n|\n)*)", shown, re.M)
    rows = re.findall(ROW, shown, re.M)
    units = {option: unit for _, option, unit in rows}
    letters = {option: letter for letter, option, _ in rows if letter}
    common = {option for _, option, _ in re.findall(ROW, shown.split("Common options:")[-1], re.M)}
    own = [row for row in about["inputs"] if "command-line-flag" in row]
    heads = ("option", "value", "default", "what it does")
    page = [f"# lobule {name}", "", f"{summary[0].upper()}{summary[1:]}.", "", "```text", usage, "```", "", paragraphs(about["description"])]
    operands = [row for row in about["inputs"] if "command-line-flag" not in row]
    if operands:
        page += ["## Operands", "", table(("operand", "what it is"), [
            (row["id"], [f"<code>{html.escape(row['name'])}</code>", escape(row["description"])]) for row in operands])]  # fmt: skip
    for title, part in (("Options", [r for r in own if r["command-line-flag"] not in common]),
                        ("Common options", [r for r in own if r["command-line-flag"] in common])):  # fmt: skip
        if part:
            page += [f"## {title}", "", table(heads, [option_row(row, units, letters) for row in part])]
    if examples:
        page += ["## Examples", "", "```sh", inspect.cleandoc(examples[1]), "```", ""]
    page += ["## Exit codes", "", table(("code", "what it says"), [
        (f"code-{row['code']}", [str(row["code"]), escape(row["description"])]) for row in about["error-codes"]])]  # fmt: skip
    return summary, "\n".join(page)


def commands(program, out):
    names = re.findall(r"^  (\w+)  ", told(program, "--help"), re.M)
    rows = []
    for name in names:
        summary, page = command_page(program, name)
        (out / f"{name}.md").write_text(page, encoding="utf-8")
        rows.append(f"- [`lobule {name}`]({name}.md): {summary}")
    (out / "index.md").write_text("# Commands\n\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return names


# ---- the C library ----


def comment_text(block):
    """A comment without its marks."""
    text = re.sub(r"^\s*/\*+|\*+/\s*$", "", block.strip())
    return inspect.cleandoc("\n".join(re.sub(r"^ ?\* ?", "", line) for line in text.splitlines()))


def prose(text):
    """Paragraphs as prose; what is indented, tables and formulas, keeps its lines."""
    made = []
    for part in re.split(r"\n\s*\n", text):
        lines = part.split("\n")
        while lines:
            indented = lines[0].startswith("  ")
            count = next((i for i, line in enumerate(lines) if line.startswith("  ") != indented), len(lines))
            some, lines = lines[:count], lines[count:]
            if indented:
                made.append(f"<pre>{html.escape(textwrap.dedent(chr(10).join(some)), quote=False)}</pre>")
            elif any(line.strip() for line in some):
                made.append(f"<p>{escape(' '.join(line.strip() for line in some))}</p>")
    return "\n".join(made) + "\n"


def declarations(text):
    """(comment, code) of each declaration of a header: what stands between blank lines outside of braces."""
    comment, code, depth, inside = "", [], 0, False
    for line in text.splitlines():
        if not code and (inside or line.startswith("/*")):
            comment = comment + "\n" + line if inside else line
            inside = "*/" not in line
            continue
        if not line.strip() and depth == 0:
            if code:
                yield comment, "\n".join(code)
                comment, code = "", []
            continue
        depth += line.count("{") - line.count("}")
        code.append(line)
    if code:
        yield comment, "\n".join(code)


def declared(code):
    """The names that a declaration makes, the first as its title."""
    plain = re.sub(r"/\*.*?\*/", "", code, flags=re.S)
    outside = re.sub(r"\{[^{}]*(\{[^{}]*\}[^{}]*)*\}", "", plain)
    names = re.findall(r"\b(lob_\w+)(?=\s*\()", outside) + re.findall(r"\}\s*(lob_\w+);", plain)
    names += re.findall(r"^(?:typedef )?(?:struct|enum) \w+ (lob_\w+);", plain, re.M) + re.findall(r"^#define (LOB_\w+)", plain, re.M)
    names += re.findall(r"^extern .*?\b(lob_\w+)(?:\[\])?;", plain, re.M)
    names += re.findall(r"\benum \{\s*(LOB_\w+)", plain)
    return list(dict.fromkeys(names))


def header_page(path):
    text = path.read_text(encoding="utf-8")
    opening = re.match(r"\s*(/\*.*?\*/)\n", text, re.S)
    body = text[opening.end() :]
    body = re.sub(r"^(#(ifndef|endif|include|if|else|ifdef).*|#define LOB_\w+_H|LOB_(BEGIN|END)_DECLS)\n", "\n", body, flags=re.M)
    about = comment_text(opening[1])
    page = [f"# {path.name}", "", prose(about), "```c", f"#include <lobule/{path.name}>", "```", ""]
    used = set()
    for comment, code in declarations(body):
        names = declared(code)
        # the body of an inline function is no part of what it promises
        code = re.sub(r"^((?:static |LOB_BOTH ).*\))\n\{\n.*\n\}$", r"\1;", code, flags=re.S)
        if names and names[0] not in used:
            used.add(names[0])
            page += [f"## {names[0]} {{ #{names[0]} }}", ""]
        page += ["```c", code, "```", ""]
        if comment:
            page += [prose(comment_text(comment)), ""]
    return about, "\n".join(page)


def c_library(include, out):
    folder = Path(include) / "lobule"
    order = re.findall(r'#include "(\w+\.h)"', (folder / "lobule.h").read_text(encoding="utf-8"))
    order += sorted({path.name for path in folder.glob("*.h")} - {*order, "lobule.h"})
    rows = []
    for name in order:
        about, page = header_page(folder / name)
        (out / f"{name[:-2]}.md").write_text(page, encoding="utf-8")
        first = re.split(r"(?<=[.:])\s", " ".join(about.split()))[0].rstrip(":.")
        rows.append((name[:-2], f"- [{name}]({name[:-2]}.md): {escape(first)}"))
    opening = re.match(r"\s*(/\*.*?\*/)", (folder / "lobule.h").read_text(encoding="utf-8"), re.S)[1]
    index = "# The C library\n\n" + prose(comment_text(opening)) + "\n## Headers\n\n" + "\n".join(row for _, row in rows) + "\n"
    (out / "index.md").write_text(index, encoding="utf-8")
    return [name for name, _ in rows]


# ---- the Python package ----


def argument_table(block, known):
    """A docstring's rows of arguments as (names, text), or None where this is no such table."""
    rows = []
    for line in block.split("\n"):
        found = re.match(r"((?:\*\*)?[A-Za-z_]\w*(?:, [A-Za-z_]\w*)*(?: \(\w+\))?)(?:,?$|\s{2,}(.*)| (.*))", line)
        if line.startswith(" ") and rows:
            rows[-1][1] += " " + line.strip()
        elif found and set(re.findall(r"\w+", found[1].split(" (")[0])) <= known:
            rows.append([found[1], (found[2] or found[3] or "").strip()])
        else:
            return None
    return rows


def doc_html(text, known, anchor):
    """Rows of arguments, and of what an object holds, as tables; all else as prose."""
    made = []
    for block in re.split(r"\n\s*\n", text):
        head, sign, rows = "argument", "-", argument_table(block, known) if "\n" in block or re.match(r"\w+ {2,}", block) else None
        if not rows and all(re.match(r"\w+ {2,}\S| ", line) for line in block.split("\n")):
            head, sign, rows = "attribute", ".", argument_table(block, set(re.findall(r"^\w+", block, re.M)))
        if rows:
            made.append(table((head, "what it is"), [
                (f"{anchor}{sign}{re.findall(chr(92) + 'w+', names)[0]}", [f"<code>{html.escape(names)}</code>", escape(what)]) for names, what in rows]))  # fmt: skip
        else:
            made.append(prose(block))
    return "\n".join(made)


def words_of(package):
    """What type names stand for, where that is a choice of words."""
    words, text = {}, "".join(path.read_text(encoding="utf-8") for path in sorted(package.glob("_*.py")))
    for name, choice in re.findall(r"^(\w+) = Literal\[(.*)\]$", text, re.M):
        words[name] = choice
    for name, other in re.findall(r"^(\w+) = _abi\.(\w+)$", text, re.M):
        words[name] = words.get(other, other)
    return words


def signature(name, function, words):
    """A function's parameters, one a line, with the words that they may be."""
    arguments = ast.unparse(function.args)
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(arguments):
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            parts.append(arguments[start:at].strip())
            start = at + 1
    parts = [part for part in [*parts, arguments[start:].strip()] if part and part != "self"]
    choices = {name: choice.replace(", ", " | ") for name, choice in words.items() if "'" in choice or '"' in choice or choice[0].isdigit()}
    shown = [re.sub(r"\b[A-Z]\w*\b", lambda found: choices.get(found[0], found[0]), part).replace('"', "'") for part in parts]
    shown = [re.sub(r"(?<![=!<>])=(?!=)", " = ", part) if ":" in part else part for part in shown]
    returned = ast.unparse(function.returns) if function.returns else ""
    if function.name == "__init__":
        returned = ""
    lines = "".join(f"\n    {part}," for part in shown) + "\n" * bool(shown)
    return f"{name}({lines})" + (f" -> {returned}" if returned else "")


def names_in(tree, name, function):
    options = {of.arg for of in [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]}
    if function.args.vararg or function.args.kwarg:
        options |= {of.arg for of in (function.args.vararg, function.args.kwarg) if of}
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and function.args.kwarg and node.name in ast.unparse(function.args.kwarg):
                options |= {field.target.id for field in node.body if isinstance(field, ast.AnnAssign)}
    return options | {"iterations", "map", "merge"}


def module_page(path, wanted, words):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    title = re.split(r"[:.,]", ast.get_docstring(tree))[0].replace("`", "")
    page, found = [f"# {title}", ""], []
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and getattr(node.targets[0], "id", "") in wanted:
            name, call = node.targets[0].id, node.value
            fixed = ", ".join(ast.unparse(word) for word in call.keywords)
            page += [f"## {name} {{ #{name} }}", "", f"[`{call.args[0].id}`](#{call.args[0].id}) with `{fixed}`.", ""]
            found.append(name)
        if not isinstance(node, (ast.FunctionDef, ast.ClassDef)) or node.name not in wanted or not ast.get_docstring(node):
            continue
        found.append(node.name)
        page += [f"## {node.name} {{ #{node.name} }}", ""]
        function = node
        if isinstance(node, ast.ClassDef):
            function = next((n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"), None)
        known = set()
        if function and not (isinstance(node, ast.ClassDef) and path.name == "_errors.py"):
            page += ["```python", signature(node.name, function, words), "```", ""]
            known = names_in(tree, node.name, function)
        page += [doc_html(ast.get_docstring(node), known, node.name), ""]
        for method in node.body if isinstance(node, ast.ClassDef) else []:
            if isinstance(method, ast.FunctionDef) and method.name[0] != "_" and ast.get_docstring(method):
                name = f"{node.name}.{method.name}"
                is_value = any(getattr(of, "id", "") == "property" for of in method.decorator_list)
                shown = f"{name}: {ast.unparse(method.returns)}" if is_value else signature(name, method, words)
                page += [f"### {method.name} {{ #{name} }}", "", "```python", shown, "```", ""]
                page += [doc_html(ast.get_docstring(method), names_in(tree, name, method), name), ""]
    return title, found, "\n".join(page)


def python_package(package, out):
    tree = ast.parse((package / "__init__.py").read_text(encoding="utf-8"))
    wanted = next(ast.literal_eval(n.value) for n in tree.body if isinstance(n, ast.Assign) and getattr(n.targets[0], "id", "") == "__all__")
    words, pages, links = words_of(package), [], []
    for module in [n.module for n in tree.body if isinstance(n, ast.ImportFrom) and n.module not in ("_abi", "__future__")]:
        title, found, page = module_page(package / f"{module}.py", wanted, words)
        name = module.strip("_")
        (out / f"{name}.md").write_text(page, encoding="utf-8")
        pages.append((title, name))
        links.append(f"- {title}: " + ", ".join(f"[`{of}`]({name}.md#{of})" for of in found))
    common = set(re.findall(r"^ {4}(\w+):", (package / "_public.py").read_text(encoding="utf-8"), re.M))
    about = doc_html(ast.get_docstring(tree), common, "option")
    index = "# The Python package\n\n" + about + "\n## Functions\n\n" + "\n".join(links) + "\n"
    (out / "index.md").write_text(index, encoding="utf-8")
    return pages


def nav(names, headers, modules):
    """The part of the site's navigation that these pages are."""
    lines = ["  - Commands:", "      - All commands: commands/index.md", "      - By example: docs/commands.md"]
    lines += [f"      - {name}: commands/{name}.md" for name in names]
    lines += ["  - Python:", "      - In use: docs/python.md", "      - The package: python/index.md"]
    lines += [f'      - "{title}": python/{name}.md' for title, name in modules]
    lines += ["  - C:", "      - The library: c/index.md"]
    lines += [f"      - {name}.h: c/{name}.md" for name in headers]
    return "\n".join(lines) + "\n"


def main():
    program, include, package, out = sys.argv[1:]
    folders = [Path(out) / name for name in ("commands", "c", "python")]
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
    names, headers = commands(program, folders[0]), c_library(include, folders[1])
    print(nav(names, headers, python_package(Path(package), folders[2])), end="")


if __name__ == "__main__":
    main()
