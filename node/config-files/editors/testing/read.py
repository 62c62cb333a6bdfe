"""Reads texts as the usual reader of their format does, for tests of the editors.

Standard input: a JSON list of [format, text]. Standard output: a JSON list with the content of each text, or
{"error": "..."} for one that the reader refuses, or null where this machine has no reader. A number is
{"number": "1.5", "float": true}, so that 1 and 1.0 differ.
"""

import configparser
import json
import sys
import tomllib
import xml.etree.ElementTree

try:
    import yaml
except ImportError:
    yaml = None


def plain(value):
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list):
        return [plain(one) for one in value]
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    return {"number": repr(value), "float": isinstance(value, float)}


def read_ini(text):
    parser = configparser.RawConfigParser(
        strict=True,
        default_section="\0",
        inline_comment_prefixes=(";", "#"),
        empty_lines_in_values=False,
    )
    parser.optionxform = str
    parser.read_string(text)
    return {name: dict(parser[name]) for name in parser.sections()}


def read_xml(text):
    def content(element):
        children = [content(child) for child in element]
        tail = (element.tail or "").strip()
        own = element.text or ""
        if children:
            own = own.strip()
        return [element.tag, dict(element.attrib), own, children, tail]

    return content(xml.etree.ElementTree.fromstring(text.encode()))


ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def unescaped(text):
    result, at = "", 0
    while at < len(text):
        if text[at] != "\\":
            result, at = result + text[at], at + 1
        elif at + 1 == len(text):
            at += 1
        elif text[at + 1] == "u":
            digits = text[at + 2 : at + 6]
            if len(digits) < 4 or not all(one in "0123456789abcdefABCDEF" for one in digits):
                raise ValueError("malformed \\uxxxx encoding")
            result, at = result + chr(int(digits, 16)), at + 6
        else:
            result, at = result + ESCAPES.get(text[at + 1], text[at + 1]), at + 2
    return result.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def read_properties(text):
    """java.util.Properties.load, from its documentation; vectors in reference.test.ts hold it to that."""
    natural = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    result, at = {}, 0
    while at < len(natural):
        line = natural[at].lstrip(" \t\f")
        at += 1
        if line in ("", "\\") or line[0] in "#!":
            continue
        while (len(line) - len(line.rstrip("\\"))) % 2 == 1:
            line = line[:-1]
            if at == len(natural):
                break
            line, at = line + natural[at].lstrip(" \t\f"), at + 1
        end = 0
        while end < len(line) and line[end] not in "=: \t\f":
            end += 2 if line[end] == "\\" else 1
        rest = line[end:].lstrip(" \t\f")
        if rest[:1] in ("=", ":"):
            rest = rest[1:].lstrip(" \t\f")
        result[unescaped(line[:end])] = unescaped(rest)
    return result


READERS = {
    "file": lambda text: text.splitlines(),
    "properties": read_properties,
    "ini": read_ini,
    "yaml": (lambda text: plain(yaml.safe_load(text))) if yaml else None,
    "json": lambda text: plain(json.loads(text)),
    "xml": read_xml,
    "toml": lambda text: plain(tomllib.loads(text)),
}


def read(format, text):
    reader = READERS[format]
    if reader is None:
        return None
    try:
        return reader(text.removeprefix("\ufeff"))
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


json.dump([read(*one) for one in json.load(sys.stdin)], sys.stdout)
