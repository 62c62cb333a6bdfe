import { createValidator, type SchemaError } from '@portcullis/contract/validator.ts';
import type { MistakeList, Position } from '../mistakes.ts';
import { type FleetText, FleetSchema } from './schema.ts';
import type { Located } from '../read/yaml-source.ts';

let validator: ReturnType<typeof createValidator<typeof FleetSchema>> | undefined;

/** Checks the file against the schema. Returns null when it does not match; the mistakes say why. */
export function checkSchema(located: Located, mistakes: MistakeList): FleetText | null {
  validator ??= createValidator(FleetSchema);
  const { value } = located;
  // An empty file declares nothing.
  const candidate: unknown = value ?? {};
  if (validator.fits(candidate)) return mistakes.empty ? candidate : null;
  for (const error of validator.explain(candidate)) {
    mistakes.add(positionOf(error, located), describe(error));
  }
  return null;
}

/** Keywords whose errors are about the name of a member, not its value. */
const OF_NAMES = new Set(['additionalProperties', 'propertyNames']);

function positionOf(
  { pointer, keyword }: SchemaError,
  { positions, keyPositions }: Located,
): Position {
  const parent = pointer.slice(0, pointer.lastIndexOf('/'));
  return (
    (OF_NAMES.has(keyword) ? keyPositions.get(pointer) : undefined) ??
    positions.get(pointer) ??
    positions.get(parent) ?? { line: 1, column: 1 }
  );
}

/** Quotes field names and allowed values, never the value itself: it might be a secret. */
function describe({ pointer, keyword, detail, known = [] }: SchemaError): string {
  const [, parent = '', name = ''] = /^(.*)\/([^/]*)$/s.exec(pointer) ?? [];
  const field = name.replaceAll('~1', '/').replaceAll('~0', '~').slice(0, 60);
  switch (keyword) {
    case 'propertyNames':
      return parent === '/organisations'
        ? `"${field}" is no short name: lower-case letters, digits and hyphens, 63 at most.`
        : `"${field}" ${detail}.`;
    case 'additionalProperties':
      // YAML reads { destination_port: 22,80,443 } as three fields.
      return /^[\d-]+$/.test(field)
        ? `There is no field "${field}" in ${nameOf(parent)}: in { } a list of ports is quoted, as in destination_port: "22,80,443".`
        : `There is no field "${field}" in ${nameOf(parent)}; there are ${known.join(', ')}.`;
    case 'required':
      return `The field "${field}" is missing in ${nameOf(parent)}.`;
    default:
      return `${capital(nameOf(pointer))} ${detail.replaceAll(TYPES, (type) => YAML_TYPES[type] ?? type)}.`;
  }
}

const YAML_TYPES: Readonly<Record<string, string>> = {
  'an object': 'a mapping of fields',
  'an array': 'a list',
  'a string': 'text (in quotes, where it looks like a number)',
  'an integer': 'a whole number',
};
const TYPES = new RegExp(`\\b(?:${Object.keys(YAML_TYPES).join('|')})\\b`, 'g');

/** The last name in a JSON pointer: `name` for `/organisations/acme/keys/0/name`. */
function nameOf(pointer: string): string {
  const parts = pointer.split('/').slice(1);
  const name = parts.findLast((part) => !/^\d+$/.test(part));
  if (name === undefined) return 'the file';
  const item = /^\d+$/.test(parts.at(-1) ?? '');
  return item ? `an entry of ${name}` : name;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
