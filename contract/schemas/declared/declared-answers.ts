import { type Static, type TObject, type TProperties, type TSchema, Type } from 'typebox';
import { owner } from '../operator.ts';
import type { DeclaredKind, Filled } from './declared-kind.ts';

/** An object as it is answered: every field but those that are only written, and who declares it. */
export function viewSchema<Fields extends TProperties>({
  title,
  schema,
  output = {},
}: Pick<DeclaredKind<string, string, string, string, Fields>, 'title' | 'schema' | 'output'>) {
  const { properties } = filled({ properties: schema.properties });
  const shown = { ...properties, ...output, owner };
  type View = Filled<Static<TObject<Fields>>> & { readonly owner: Static<typeof owner> };
  return Type.Unsafe<View>({
    type: 'object',
    title: `Declared${title}`,
    required: Object.keys(shown),
    properties: shown,
  });
}

/** The parts of a schema that have others in them. */
interface Part {
  readonly title?: string;
  /** It is not answered. */
  readonly writeOnly?: boolean;
  /** Later versions may add fields to an answer. */
  readonly additionalProperties?: unknown;
  readonly properties?: Readonly<Record<string, Part>>;
  readonly items?: Part;
  readonly anyOf?: readonly Part[];
}

/** A schema of which nothing is left out: every field of every object is there. */
function filled({
  additionalProperties: _open,
  title,
  properties,
  items,
  anyOf,
  ...part
}: Part): Part {
  const members = Object.entries(properties ?? {}).filter(([, field]) => field.writeOnly !== true);
  return {
    ...part,
    ...(title !== undefined && { title: `Declared${title}` }),
    ...(properties && {
      required: members.map(([name]) => name),
      properties: Object.fromEntries(members.map(([name, field]) => [name, filled(field)])),
    }),
    ...(items && { items: filled(items) }),
    ...(anyOf && { anyOf: anyOf.map(filled) }),
  };
}

export function answerSchema<S extends TSchema>(data: S, title: string) {
  return Type.Object({ data }, { title: `Declared${title}Answer` });
}

/** The answer to a write. */
export function writtenSchema<S extends TSchema>(
  { title, remarks: description }: { readonly title: string; readonly remarks?: string },
  data: S,
) {
  const message = description && { message: Type.Optional(Type.String({ description })) };
  return Type.Object(
    { data, ...message },
    { title: `${message ? 'Written' : 'Declared'}${title}Answer` },
  );
}
