import { Document, isCollection, isMap, isPair, isScalar, isSeq, YAMLSeq } from 'yaml';
import { branchOf, type Field } from '../../fields.ts';
import { SecretVariable } from '../../index.ts';
import { FleetSchema } from '../schema/schema.ts';

/** The longest line that a mapping or a list is written on. */
const LINE = 100;

/** A file as text: members in the order of the schema, short entries on one line, and comments at the top. */
export function renderFile(file: object, comments: readonly string[]): string {
  const schema: object = FleetSchema;
  const value = ordered(schema, file);
  // Readers of YAML 1.1, such as editors, take `off` and plain times for other values.
  const document = new Document(value, { aliasDuplicateObjects: false, compat: 'yaml-1.1' });
  if (isMap(document.contents)) {
    for (const { value: section } of document.contents.items) shorten(section, 1);
  }
  const lines = comments.map((line) => `# ${plainLine(line)}`.trimEnd());
  const text = document.toString({ lineWidth: 0, flowCollectionPadding: true });
  return [...lines, ...(lines.length > 0 ? [''] : []), text].join('\n');
}

interface OpenField extends Field {
  readonly additionalProperties?: OpenField | boolean;
}

/** The value with its members in the order of the schema, and texts as a reader of the file takes them. */
function ordered(field: OpenField, value: unknown): unknown {
  if (typeof value === 'string') return value.replaceAll('${', () => '$${');
  if (value instanceof SecretVariable) return `\${${value.name}}`;
  const branch: OpenField = branchOf(field, value);
  if (Array.isArray(value)) return value.map((item) => ordered(branch.items ?? {}, item));
  if (typeof value !== 'object' || value === null) return value;
  const names = Object.keys(branch.properties ?? {});
  const members = Object.entries(value);
  const sorted =
    names.length === 0
      ? members
      : members.toSorted(([a], [b]) => names.indexOf(a) - names.indexOf(b));
  const others = typeof branch.additionalProperties === 'object' ? branch.additionalProperties : {};
  return new Map(
    sorted.map(([name, one]) => [name, ordered(branch.properties?.[name] ?? others, one)]),
  );
}

/** Writes short collections on one line. Returns the length of a node on one line; infinite: it takes several. */
function shorten(node: unknown, depth: number): number {
  if (isPair(node)) return shorten(node.key, depth) + 2 + shorten(node.value, depth);
  if (isScalar(node)) return lengthOf(String(node.value));
  if (!isCollection(node)) return 0;
  const lengths = node.items.map((item) => shorten(item, depth + 1));
  const length = lengths.reduce((sum, one) => sum + one + 2, 2);
  const hasEntries = isSeq(node) && node.items.some((item) => isMap(item));
  const isOne = length + 2 * depth <= LINE && !hasEntries && depth > 1;
  const isList = isSeq(node) && !hasEntries && length + 2 * depth <= LINE;
  if (!isOne && !isList && node.items.length > 0) return Number.POSITIVE_INFINITY;
  node.flow = true;
  if (isSeq(node)) node.toString = withoutPadding;
  return length;
}

/** Writes `[a, b]` beside `{ a: b }`, for which the library has one setting. */
function withoutPadding(this: YAMLSeq, ...args: Parameters<YAMLSeq['toString']>): string {
  const [context, ...others] = args;
  const plain = context && { ...context, flowCollectionPadding: '' };
  return YAMLSeq.prototype.toString.call(this, plain, ...others);
}

function lengthOf(text: string): number {
  return text.includes('\n') ? Number.POSITIVE_INFINITY : text.length;
}

/** Names of others in a comment cannot end it. */
function plainLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]/gu, '?');
}
