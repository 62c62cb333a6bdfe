import { SERVER, type ServerObject } from '@portcullis/contract/schemas/declared/game-server.ts';
import { type Field, fieldsOf } from './fields.ts';

/** The fields of a server that its people may set. */
const SETTINGS = [
  'name',
  'image',
  'start_with_host',
  'stop_seconds',
  'crashes',
  'variables',
] as const;

type Setting = readonly [pointer: string, value: unknown];

/** Settings of a server by JSON pointer: `/name`, `/crashes/tries`, `/variables/MOTD`. */
export function settingsOf(object: ServerObject): ReadonlyMap<string, unknown> {
  return new Map(
    SETTINGS.flatMap((name): Setting[] => {
      const value: unknown = object[name];
      if (typeof value !== 'object' || value === null) return [[`/${name}`, value]];
      return Object.entries(value).map(([member, one]) => [`/${name}/${member}`, one]);
    }),
  );
}

const DEFAULTS: ReadonlyMap<string, unknown> = new Map(
  SETTINGS.flatMap((name): Setting[] => {
    const { properties, default: standard } = fieldsOf(SERVER.schema)[name] ?? {};
    const members = Object.entries<Field>(properties ?? {});
    return [
      [`/${name}`, standard],
      ...members.map(([member, field]): Setting => [`/${name}/${member}`, field.default]),
    ];
  }),
);

/** Whether a server has a setting of its own: another value than what is there without a word. */
export function isStated(object: ServerObject, pointer: string): boolean {
  const settings = settingsOf(object);
  return settings.has(pointer) && settings.get(pointer) !== DEFAULTS.get(pointer);
}

/** The server of a file with the settings of its people, where the file leaves them open. */
export function withSettings(
  declared: ServerObject,
  before: ServerObject,
  pointers: readonly string[],
): ServerObject {
  const stored = settingsOf(before);
  const kept = pointers.filter((pointer) => stored.has(pointer) && !isStated(declared, pointer));
  return kept.reduce(
    (object, pointer) => withValue(object, pointer, stored.get(pointer)),
    declared,
  );
}

function withValue(object: ServerObject, pointer: string, value: unknown): ServerObject {
  const [, field = '', member] = pointer.split('/');
  if (member === undefined) return { ...object, [field]: value };
  return { ...object, [field]: { ...Object(Reflect.get(object, field)), [member]: value } };
}

/** The settings that differ between two states of a server. */
export function changedSettings(before: ServerObject, after: ServerObject): string[] {
  const [was, is] = [settingsOf(before), settingsOf(after)];
  const all = new Set([...was.keys(), ...is.keys()]);
  return [...all].filter((pointer) => was.get(pointer) !== is.get(pointer));
}
