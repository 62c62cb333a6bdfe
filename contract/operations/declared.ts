import { type TObject, type TProperties, type TSchema, Type } from 'typebox';
import { type OperatorEndpoint, RATE_HEADERS, type ResponseRow } from '../endpoint.ts';
import type { ProblemCode } from '../problems.ts';
import {
  bodySchema,
  type DeclaredKind,
  patchSchema,
  pathNames,
} from '../schemas/declared/declared-kind.ts';
import { answerSchema, viewSchema, writtenSchema } from '../schemas/declared/declared-answers.ts';
import { Done } from '../schemas/portal-account.ts';
import { CLOSED, id, integer } from '../schemas/values.ts';
import {
  change,
  create,
  createAnswer,
  doneAnswer,
  read,
  readAnswer,
  remove,
  replace,
  saveAnswer,
  SLUG,
} from './operator-shared.ts';

/** Lets a write lose something: without it, such a write is refused and says what would be lost. */
const LossesQuery = Type.Object(
  {
    allow_losses: Type.Optional(
      Type.Boolean({ description: 'Also if something would be lost. Default: false.' }),
    ),
  },
  CLOSED,
);

const LOSSES = ['live_objects', 'precondition_failed'] as const satisfies readonly ProblemCode[];

/** The five operations of a kind of declared object, with one meaning of each method (RFC 9110, RFC 7396). */
export function declaredEndpoints<
  Name extends string,
  Title extends string,
  Plural extends string,
  Path extends string,
  Fields extends TProperties,
>(kind: DeclaredKind<Name, Title, Plural, Path, Fields>) {
  const { path, title, plural, about, example } = kind;
  const called = kind.name.replaceAll('-', ' ');
  const one = `${/^[aeiou]/.test(called) ? 'an' : 'a'} ${called}`;
  const many = plural.replaceAll(/(?!^)[A-Z]/g, (letter) => ` ${letter}`).toLowerCase();
  const View = viewSchema(kind);
  const params = paramsOf(kind, path);
  const listPath = path.replace(/\/\{\w+\}$/, '');
  const now = `The ${called} as it is now.`;
  const written = writtenSchema(kind, View);
  return [
    {
      ...read,
      operationId: `list${plural}`,
      path: listPath,
      params: paramsOf(kind, listPath),
      ...(kind.search && { query: kind.search }),
      summary: `List the ${many}`,
      description: 'As they are declared, by the fleet file or by hand.',
      responses: readAnswer(`The ${many}.`, answerSchema(Type.Array(View), plural)),
    },
    {
      ...read,
      operationId: `read${title}`,
      path,
      params,
      summary: `Read ${one}`,
      description: 'As it is declared. Its ETag is what `If-Match` of a write takes.',
      responses: readAnswer(now, answerSchema(View, title)),
    },
    {
      ...replace,
      operationId: `save${title}`,
      path,
      params,
      query: LossesQuery,
      summary: kind.isNumbered ? `Replace ${one}` : `Create or replace ${one}`,
      description: kind.isNumbered
        ? 'The body is the whole object: what is left out gets its default. With `If-Match` it only replaces what was read; otherwise 412.'
        : 'The body is the whole object: what is left out gets its default. With `If-None-Match: *` it only creates, and with `If-Match` it only replaces what was read; otherwise 412.',
      body: bodySchema(kind),
      bodyExamples: { plain: example },
      responses: {
        ...saveAnswer(now, written, LOSSES),
        ...tagged(200, now, written),
        ...tagged(201, 'It was created.', written),
      },
    },
    {
      ...change,
      operationId: `change${title}`,
      path,
      params,
      query: LossesQuery,
      summary: `Change ${one}`,
      description:
        'A merge patch (RFC 7396): what it names changes, null gives the default, and all else stays.',
      body: patchSchema(kind),
      bodyExamples: { plain: example },
      responses: {
        ...saveAnswer(now, written, LOSSES),
        ...tagged(200, now, written),
      },
    },
    {
      ...remove,
      requestHeaders: [...remove.requestHeaders, 'If-Match'],
      operationId: `remove${title}`,
      path,
      params,
      query: LossesQuery,
      summary: `Remove ${one}`,
      description: about,
      responses: doneAnswer('Removed.', Done, LOSSES),
    },
  ] as const satisfies readonly OperatorEndpoint[];
}

/** The creation of an object whose number is given when it is made. */
export function createEndpoint<Title extends string, Path extends string, Fields extends TProperties>(
  kind: DeclaredKind<string, Title, string, Path, Fields>,
) {
  const { path, title, example } = kind;
  const listPath = path.replace(/\/\{\w+\}$/, '');
  const called = kind.name.replaceAll('-', ' ');
  const answered = writtenSchema(kind, viewSchema(kind));
  return {
    ...create,
    operationId: `create${title}`,
    path: listPath,
    params: paramsOf(kind, listPath),
    query: LossesQuery,
    summary: `Create a ${called}`,
    description: 'The answer has its number. What is left out gets its default.',
    body: bodySchema(kind),
    bodyExamples: { plain: example },
    responses: createAnswer('It was created.', answered, LOSSES),
  } as const satisfies OperatorEndpoint;
}

function tagged(status: 200 | 201, description: string, schema: TObject) {
  const headers = [...RATE_HEADERS, 'Portcullis-Generation?', 'ETag?'] as const;
  return { [status]: { description, schema, headers } } satisfies Readonly<
    Record<number, ResponseRow>
  >;
}

function paramsOf<Fields extends TProperties>(
  { schema }: Pick<DeclaredKind<string, string, string, string, Fields>, 'schema'>,
  path: string,
) {
  const names = pathNames(path).map((name) => {
    const { type, minimum, maximum } = Object(schema.properties[name]) as {
      readonly type?: unknown;
      readonly minimum?: number;
      readonly maximum?: number;
    };
    const bounds = { ...(minimum && { minimum }), ...(maximum && { maximum }) };
    if (name === 'slug') return [name, SLUG.slug];
    const description = `Its ${name}.`;
    // Every operation with a parameter of this name refers to one component.
    if (type !== 'integer') return [name, Type.String({ description })];
    return [name, name === 'id' ? id({ description }) : integer({ ...bounds, description })];
  });
  return Object.fromEntries(names) as Readonly<Record<string, TSchema>>;
}
