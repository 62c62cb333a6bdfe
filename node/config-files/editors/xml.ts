import { type Document, DOMParser, type Element, XMLSerializer } from '@xmldom/xmldom';
import { type Edit, type Editor, Unreadable, valueAfter } from './edit.ts';

const ELEMENT = 1;
const TEXT = 3;
const COMMENT = 8;
const KEPT: ReadonlySet<number> = new Set([ELEMENT, COMMENT]);
const MAX_DEPTH = 200;

/**
 * XML. A match is a path of elements from the root, `Root.Child.Leaf`, each with an optional condition:
 * `property[@name='ServerPort']`, `*`, `item[2]` (from 1, as in XPath). A match that ends in `/@attribute` sets an
 * attribute, any other the text. Missing elements are created unless the path contains a `*` or a position.
 */
export const editXml: Editor = (text, edits) => {
  const document = parseDocument(text, edits);
  const before = written(document);
  const problems = edits.flatMap((edit) => editDocument(document, edit));
  const after = written(document);
  if (after === before) return { text, problems };
  const plain = isAsciiOnly(text) ? inAscii(after) : after;
  const ended = text.trim() === '' || text.endsWith('\n') ? `${plain}\n` : plain;
  return { text: text.includes('\r\n') ? ended.replaceAll('\n', '\r\n') : ended, problems };
};

/** Whether the text says an encoding in which nothing but its ASCII can be relied on. */
function isAsciiOnly(text: string): boolean {
  const encoding = /^<\?xml[^>]*\sencoding\s*=\s*["']([^"']+)/.exec(text)?.[1] ?? 'utf-8';
  return !/^utf-?(?:8|16)$/i.test(encoding) && !/\P{ASCII}/u.test(text);
}

function inAscii(text: string): string {
  return text.replaceAll(/\P{ASCII}/gu, (char) => `&#x${char.codePointAt(0)?.toString(16)};`);
}

/** A carriage return of a text is one written as a reference; as it is, readers take it for a line end. */
function written(document: Document): string {
  const text = new XMLSerializer().serializeToString(document).trimEnd();
  return text.replaceAll('\r', '&#xD;');
}

function parseDocument(text: string, edits: readonly Edit[]): Document {
  if (depthOf(text) > MAX_DEPTH) throw new Unreadable('its elements are nested too deeply');
  const source = text.trim() === '' ? emptyDocument(edits) : text;
  try {
    const parser = new DOMParser({
      // Those of XML 1.0.
      normalizeLineEndings: (source) => source.replaceAll(/\r\n?/g, '\n'),
      onError: (level, message) => {
        if (level !== 'warning') throw new Error(message);
      },
    });
    return parser.parseFromString(source, 'text/xml');
  } catch (error) {
    throw new Unreadable(`it is not XML: ${reasonOf(error as Error)}`, { cause: error });
  }
}

/** The library reports an error that its own handler threw as a new one. */
function reasonOf(error: Error): string {
  const { cause } = error;
  if (cause instanceof Error) return reasonOf(cause);
  return error.message.split('\n')[0] ?? '';
}

/** A new file gets the root of the first edit. */
function emptyDocument(edits: readonly Edit[]): string {
  const root = parseMatch(edits[0]?.match ?? '')?.way[0];
  if (root === undefined || root.name === '*')
    throw new Unreadable('it is empty, and no root is named');
  return `<?xml version="1.0" encoding="utf-8"?>\n<${root.name}/>`;
}

/** The approximate nesting depth, because the parser recurses. */
function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (const [tag] of text.matchAll(/<[A-Za-z_][^<>]*>|<\/[^<>]*>/g)) {
    if (tag.startsWith('</')) depth -= 1;
    else if (!tag.endsWith('/>')) depth += 1;
    deepest = Math.max(deepest, depth);
  }
  return deepest;
}

interface WayPart {
  /** `*` matches any name. */
  readonly name: string;
  readonly attribute: { readonly name: string; readonly value: string } | null;
  /** Counted from 1. */
  readonly position: number | null;
}

const ATTRIBUTE = /^(.*)\/@([A-Za-z_][\w-]*)$/s;

function parseMatch(
  match: string,
): { readonly way: readonly WayPart[]; readonly attribute: string | null } | null {
  const [, path = match, attribute = null] = ATTRIBUTE.exec(match) ?? [];
  const way = parseWay(path);
  return way === null ? null : { way, attribute };
}

function parseWay(match: string): readonly WayPart[] | null {
  const way: WayPart[] = [];
  const form =
    /(\*|[A-Za-z_][\w-]*)(?:\[(?:@([A-Za-z_][\w-]*)=(?:'([^'\]]*)'|"([^"\]]*)")|(\d{1,4}))\])?(\.|$)/gy;
  while (form.lastIndex < match.length) {
    const [, name, attribute, single, double, position] = form.exec(match) ?? [];
    if (name === undefined || way.length > 32) return null;
    way.push({
      name,
      attribute:
        attribute === undefined ? null : { name: attribute, value: single ?? double ?? '' },
      position: position === undefined ? null : Number(position),
    });
  }
  return way.length === 0 || match.endsWith('.') ? null : way;
}

function editDocument(document: Document, edit: Edit): readonly string[] {
  const parsed = parseMatch(edit.match);
  const root = document.documentElement;
  if (parsed === null || root === null) return [`"${edit.match}" is no way of elements.`];
  const { way, attribute } = parsed;
  if (way.some(({ position }) => position === 0)) {
    return [`"${edit.match}" fits no element: the first one has the number 1.`];
  }
  const [first, ...rest] = way as readonly [WayPart, ...WayPart[]];
  if (!fits(root, first)) return [`"${edit.match}": the root is <${root.tagName}>.`];
  if ((first.position ?? 1) > 1) return [`"${edit.match}" fits no element: there is one root.`];
  if (UNWRITABLE.test(String(edit.value))) {
    return [`"${edit.match}": XML has no way to write a control character of the value.`];
  }
  const mayCreate = edit.ifValue === null && !way.some(({ name }) => name === '*');
  let found = [root];
  for (const [index, part] of rest.entries()) {
    // Nothing is created on the way to an element that is chosen by its position.
    const create = mayCreate && rest.slice(index).every(({ position }) => position === null);
    found = found.flatMap((element) => children(element, part, create));
  }
  if (found.length === 0 && edit.ifValue === null) return [`"${edit.match}" fits no element.`];
  for (const element of found) put(element, attribute, edit);
  return [];
}

function children(element: Element, part: WayPart, create: boolean): Element[] {
  const fitting = [...element.childNodes]
    .filter((node): node is Element => node.nodeType === ELEMENT)
    .filter((child) => fits(child, part));
  const chosen = part.position === null ? fitting : fitting.slice(part.position - 1, part.position);
  if (chosen.length > 0 || !create || part.position !== null) return chosen;
  const made = (element.ownerDocument as Document).createElement(part.name);
  if (part.attribute !== null) made.setAttribute(part.attribute.name, part.attribute.value);
  append(element, made);
  return [made];
}

/** On a new line with the indentation of the previous elements. */
function append(element: Element, made: Element): void {
  const document = element.ownerDocument as Document;
  const last = element.lastChild;
  const space = [...element.childNodes].find(
    (node) => node.nodeType === TEXT && /^\s*\n\s*$/.test(node.nodeValue ?? ''),
  );
  if (space === undefined || last === null) {
    element.appendChild(made);
    return;
  }
  const indent = document.createTextNode(space.nodeValue ?? '');
  const tail = last.nodeType === TEXT && (last.nodeValue ?? '').trim() === '' ? last : null;
  element.insertBefore(made, tail);
  if (tail === null) element.insertBefore(indent, made);
  else if (tail.previousSibling === made && space !== tail) {
    // The white space before the closing tag stays; the new element gets its own.
    element.insertBefore(indent, made);
  }
}

function fits(element: Element, { name, attribute }: WayPart): boolean {
  if (name !== '*' && element.tagName !== name) return false;
  return attribute === null || element.getAttribute(attribute.name) === attribute.value;
}

const UNWRITABLE = /[^\t\n\r\x20-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u;

function put(element: Element, attribute: string | null, edit: Edit): void {
  const current =
    attribute === null ? (element.textContent ?? '') : element.getAttribute(attribute);
  const value = valueAfter(current, edit);
  if (value === null || String(value) === current) return;
  if (attribute === null) setText(element, String(value));
  else element.setAttribute(attribute, String(value));
}

/** The text of an element without its child elements. */
function setText(element: Element, text: string): void {
  const own = [...element.childNodes].filter(({ nodeType }) => !KEPT.has(nodeType));
  for (const node of own) element.removeChild(node);
  const node = (element.ownerDocument as Document).createTextNode(text);
  element.insertBefore(node, element.firstChild);
}
