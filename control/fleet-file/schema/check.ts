import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import type { MistakeList, Position } from '../mistakes.ts';
import { type FleetText, FleetSchema } from './schema.ts';
import { escapePointer, type Located } from '../read/yaml-source.ts';

let compiled: ReturnType<typeof compile> | undefined;

function compile() {
  return new Ajv2020({ allErrors: true, verbose: true, strict: false }).compile<FleetText>(
    FleetSchema,
  );
}

/** Checks the file against the schema. Returns null when it does not match; the mistakes say why. */
export function checkSchema(located: Located, mistakes: MistakeList): FleetText | null {
  compiled ??= compile();
  const { value } = located;
  // An empty file declares nothing.
  const candidate: unknown = value ?? {};
  if (compiled(candidate)) return mistakes.empty ? candidate : null;
  for (const error of relevantErrors(compiled.errors ?? [])) {
    mistakes.add(positionOf(error, located), describeError(error));
    if (mistakes.full) break;
  }
  return null;
}

/**
 * For a union, keeps the errors of the alternative whose type the value has; when it has none of the types, keeps
 * the error that lists them.
 */
function relevantErrors(errors: readonly ErrorObject[]): ErrorObject[] {
  const choices = errors.filter(({ keyword }) => keyword === 'anyOf');
  const inChoice = new Map<ErrorObject, ErrorObject[]>();
  for (const choice of choices) {
    const inside = errors.filter(
      (error) =>
        error !== choice &&
        error.schemaPath.startsWith(`${choice.schemaPath}/`) &&
        error.instancePath.startsWith(choice.instancePath),
    );
    inChoice.set(choice, inside);
  }
  const dropped = new Set<ErrorObject>();
  for (const [choice, inside] of inChoice) {
    const wrongType = inside.filter(
      (error) => error.keyword === 'type' && error.instancePath === choice.instancePath,
    );
    for (const error of wrongType) dropped.add(error);
    if (inside.length > wrongType.length) dropped.add(choice);
  }
  return errors.filter((error) => !dropped.has(error) && error.keyword !== 'propertyNames');
}

function positionOf(error: ErrorObject, { positions, keyPositions }: Located): Position {
  const unknown: unknown = error.params['additionalProperty'] ?? error.propertyName;
  if (typeof unknown === 'string') {
    const key = keyPositions.get(`${error.instancePath}/${escapePointer(unknown)}`);
    if (key !== undefined) return key;
  }
  return positions.get(error.instancePath) ?? { line: 1, column: 1 };
}

const TYPE_WORDS: Readonly<Record<string, string>> = {
  object: 'a mapping of fields',
  array: 'a list',
  string: 'text (in quotes, where it looks like a number)',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
};

/** Quotes field names and allowed values, never the value itself: it might be a secret. */
function describeError({
  keyword,
  params,
  instancePath,
  propertyName,
  parentSchema,
}: ErrorObject): string {
  const what = nameOf(instancePath);
  if (propertyName !== undefined) {
    return `"${propertyName.slice(0, 60)}" is no short name: lower-case letters, digits and hyphens, 63 at most.`;
  }
  switch (keyword) {
    case 'additionalProperties':
      // YAML reads { destination_port: 22,80,443 } as three fields.
      if (/^[\d-]+$/.test(String(params['additionalProperty'])))
        return `There is no field "${String(params['additionalProperty']).slice(0, 60)}" in ${what}: in { } a list of ports is quoted, as in destination_port: "22,80,443".`;
      return `There is no field "${String(params['additionalProperty']).slice(0, 60)}" in ${what}${allowed(parentSchema)}.`;
    case 'required':
      return `The field "${String(params['missingProperty'])}" is missing in ${what}.`;
    case 'type':
      return `${capital(what)} must be ${TYPE_WORDS[String(params['type'])] ?? String(params['type'])}.`;
    case 'anyOf':
      return `${capital(what)} must be ${typesOf(parentSchema)}.`;
    case 'enum': {
      const values: unknown = params['allowedValues'];
      return `${capital(what)} must be one of ${Array.isArray(values) ? values.join(', ') : ''}.`;
    }
    case 'minimum':
    case 'maximum':
      return `${capital(what)} must be ${String(params['comparison'])} ${String(params['limit'])}.`;
    case 'minItems':
      return `${capital(what)} must have at least ${String(params['limit'])}.`;
    case 'maxItems':
      return `${capital(what)} must have at most ${String(params['limit'])}.`;
    case 'minLength':
      return `${capital(what)} must not be empty.`;
    case 'maxLength':
      return `${capital(what)} must have at most ${String(params['limit'])} characters.`;
    case 'pattern':
      return `${capital(what)} has characters that are not allowed.`;
    default:
      return `${capital(what)} is not right (${keyword}).`;
  }
}

function typesOf(schema: ErrorObject['parentSchema']): string {
  const branches: unknown = schema?.['anyOf'];
  if (!Array.isArray(branches)) return 'something else';
  return branches
    .map((branch: unknown) => {
      const type = hasType(branch) ? branch.type : '';
      return TYPE_WORDS[type] ?? type;
    })
    .join(' or ');
}

function hasType(branch: unknown): branch is { type: string } {
  return (
    typeof branch === 'object' &&
    branch !== null &&
    'type' in branch &&
    typeof branch.type === 'string'
  );
}

function allowed(schema: ErrorObject['parentSchema']): string {
  const properties: unknown = schema?.['properties'];
  if (typeof properties !== 'object' || properties === null) return '';
  return `; there are ${Object.keys(properties).join(', ')}`;
}

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
