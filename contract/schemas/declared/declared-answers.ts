import { type Static, type TObject, type TProperties, type TSchema, Type } from 'typebox';
import { owner } from '../operator.ts';
import type { DeclaredKind, Filled } from './declared-kind.ts';

/** An object as it is answered: every field but those that are only written, and who declares it. */
export function viewSchema<Fields extends TProperties>({
  title,
  schema,
  output = {},
}: Pick<DeclaredKind<string, string, string, string, Fields>, 'title' | 'schema' | 'output'>) {
  const fields = Object.entries<TSchema & { readonly writeOnly?: boolean }>(schema.properties);
  const shown = fields.filter(([, { writeOnly = false }]) => !writeOnly);
  const properties = { ...Object.fromEntries(shown), ...output, owner };
  const view = Type.Object(properties, {
    title: `Declared${title}`,
    required: Object.keys(properties),
  });
  type View = Filled<Static<TObject<Fields>>> & { readonly owner: Static<typeof owner> };
  return Type.Unsafe<View>(view);
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
