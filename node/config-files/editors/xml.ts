import { type Document, DOMParser, type Element, XMLSerializer } from '@xmldom/xmldom';
import { type Edit, type Editor, Unreadable, valueAfter } from './edit.ts';

const ELEMENT = 1;
const TEXT = 3;
const COMMENT = 8;
const KEPT: ReadonlySet<number> = new Set([ELEMENT, COMMENT]);
const MAX_DEPTH = 200;

/**
 * XML. A match is a path of elements from the root, `Root.Child.Leaf`, each with an optional condition:
 * `property[@name='ServerPort']`, `*`, `item[2]` (from 1, as in XPath). A value `[attribute='text']` sets an attribute,
 * any other the text. Missing elements are created unless the path contains a `*`.
 */
export const editXml: Editor = (text, edits) => {
  const document = parseDocument(text, edits);
  const before = written(document);
  const problems = edits.flatMap((edit) => editDocument(document, edit));
  const after = written(document);
  if (after === before) return { text, problems };
  return { text: text.trim() === '' || text.endsWith('\n') ? `${after}\n` : after, problems };
};

function written(document: Document): string {
  return new XMLSerializer().serializeToString(document).trimEnd();
}

function parseDocument(text: string, edits: readonly Edit[]): Document {
  if (depthOf(text) > MAX_DEPTH) throw new Unreadable('its elements are nested too deeply');
  const source = text.trim() === '' ? emptyDocument(edits) : text.replace(/^\ufeff/, '');
  try {
    const parser = new DOMParser({
      onError: (level, message) => {
        if (level !== 'warning') throw new Unreadable(`it is not XML: ${message.split('\n')[0]}`);
      },
    });
    return parser.parseFromString(source, 'text/xml');
  } catch (error) {
    if (error instanceof Unreadable) throw error;
    const [message = ''] = (error as Error).message.split('\n');
    throw new Unreadable(`it is not XML: ${message}`, { cause: error });
  }
}

/** A new file gets the root of the first edit. */
function emptyDocument(edits: readonly Edit[]): string {
  const root = parseWay(edits[0]?.match ?? '')?.[0];
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
  const way = parseWay(edit.match);
  const root = document.documentElement;
  if (way === null || root === null) return [`"${edit.match}" is no way of elements.`];
  const [first, ...rest] = way as readonly [WayPart, ...WayPart[]];
  if (!fits(root, first)) return [`"${edit.match}": the root is <${root.tagName}>.`];
  const create = edit.ifValue === null && !way.some(({ name }) => name === '*');
  let found = [root];
  for (const part of rest) found = found.flatMap((element) => children(element, part, create));
  for (const element of found) put(element, edit);
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

const ATTRIBUTE = /^\[([A-Za-z_][\w-]*)='(.*)'\]$/s;

function put(element: Element, edit: Edit): void {
  const attribute = ATTRIBUTE.exec(String(edit.value));
  const name = attribute?.[1];
  const current = name === undefined ? (element.textContent ?? '') : element.getAttribute(name);
  const value = valueAfter(current, { ...edit, value: attribute?.[2] ?? edit.value });
  if (value === null || String(value) === current) return;
  const text = String(value).replaceAll(
    /[^\t\n\r\x20-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu,
    '',
  );
  if (name === undefined) setText(element, text);
  else element.setAttribute(name, text);
}

/** The text of an element without its child elements. */
function setText(element: Element, text: string): void {
  const own = [...element.childNodes].filter(({ nodeType }) => !KEPT.has(nodeType));
  for (const node of own) element.removeChild(node);
  const node = (element.ownerDocument as Document).createTextNode(text);
  element.insertBefore(node, element.firstChild);
}
