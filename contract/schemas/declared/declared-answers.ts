import { type Static, type TObject, type TProperties, type TSchema, Type } from 'typebox';
import { owner } from '../operator.ts';
import type { DeclaredKind, Filled } from './declared-kind.ts';

/** An object as it is answered: every field but those that are only written, and who declares it. */
export function viewSchema<Fields extends TProperties>({
  title,
  schema,
  output = {},
}: Pick<DeclaredKind<string, string, string, string, Fields>, 'title' | 'schema' | 'output'>) {
  const properties = { ...filled(schema.properties), ...output, owner };
  const view = Type.Object(properties, {
    title: `Declared${title}`,
    required: Object.keys(properties),
  });
  type View = Filled<Static<TObject<Fields>>> & { readonly owner: Static<typeof owner> };
  return Type.Unsafe<View>(view);
}

type Answered = TSchema & {
  readonly writeOnly?: boolean;
  readonly title?: string;
  readonly properties?: TProperties;
};

/** Fields as they are answered; those of an object have their defaults too. */
function filled(properties: TProperties): TProperties {
  const shown = Object.entries<Answered>(properties).filter(
    ([, field]) => field.writeOnly !== true,
  );
  return Object.fromEntries(shown.map(([name, field]) => [name, filledField(field)]));
}

function filledField({ properties: inside, ...field }: Answered): TSchema {
  if (inside === undefined) return field;
  const title = field.title === undefined ? {} : { title: `Declared${field.title}` };
  const properties = filled(inside);
  return { ...field, ...title, properties, required: Object.keys(properties) };
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
