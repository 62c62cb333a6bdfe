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

function problemsOf({
  refusals = [],
}: {
  readonly refusals?: readonly ProblemCode[];
}): ProblemCode[] {
  return [...LOSSES, ...refusals];
}

/** The five operations of a kind of declared object, with one meaning of each method (RFC 9110, RFC 7396). */
export function declaredEndpoints<
  Name extends string,
  Title extends string,
  Plural extends string,
  Path extends string,
  Fields extends TProperties,
>(kind: DeclaredKind<Name, Title, Plural, Path, Fields>) {
  return [...reads(kind), ...writes(kind)] as const satisfies readonly OperatorEndpoint[];
}

/** `an edge`, `edge` and `edges`. */
function wordsOf({ name, plural }: { readonly name: string; readonly plural: string }) {
  const called = name.replaceAll('-', ' ');
  const one = `${/^[aeiou]/.test(called) ? 'an' : 'a'} ${called}`;
  const many = plural.replaceAll(/(?!^)[A-Z]/g, (letter) => ` ${letter}`).toLowerCase();
  return { one, called, many };
}

function reads<
  Name extends string,
  Title extends string,
  Plural extends string,
  Path extends string,
  Fields extends TProperties,
>(kind: DeclaredKind<Name, Title, Plural, Path, Fields>) {
  const { path, title, plural } = kind;
  const { one, called, many } = wordsOf(kind);
  const View = viewSchema(kind);
  const listPath = path.replace(/\/\{\w+\}$/, '');
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
      params: paramsOf(kind, path),
      summary: `Read ${one}`,
      description: 'As it is declared. Its ETag is what `If-Match` of a write takes.',
      responses: readAnswer(`The ${called}.`, answerSchema(View, title)),
    },
  ] as const;
}

function writes<
  Name extends string,
  Title extends string,
  Plural extends string,
  Path extends string,
  Fields extends TProperties,
>(kind: DeclaredKind<Name, Title, Plural, Path, Fields>) {
  const { path, title, about, example } = kind;
  const { one, called } = wordsOf(kind);
  const now = `The ${called} as it is now.`;
  const Answered = writtenSchema(kind, viewSchema(kind));
  const answers = { ...saveAnswer(now, Answered, problemsOf(kind)), ...tagged(200, now, Answered) };
  const where = { path, params: paramsOf(kind, path), query: LossesQuery };
  return [
    {
      ...replace,
      ...where,
      operationId: `save${title}`,
      summary: kind.isNumbered ? `Replace ${one}` : `Create or replace ${one}`,
      description: `The body is the whole object: what is left out gets its default. With ${kind.isNumbered ? '' : '`If-None-Match: *` it only creates, and with '}\`If-Match\` it only replaces what was read; otherwise 412.`,
      body: bodySchema(kind),
      bodyExamples: { plain: example },
      responses: { ...answers, ...tagged(201, 'It was created.', Answered) },
    },
    {
      ...change,
      ...where,
      operationId: `change${title}`,
      summary: `Change ${one}`,
      description:
        'A merge patch (RFC 7396): what it names changes, null gives the default, and all else stays.',
      body: patchSchema(kind),
      bodyExamples: { plain: example },
      responses: answers,
    },
    {
      ...remove,
      ...where,
      requestHeaders: [...remove.requestHeaders, 'If-Match'],
      operationId: `remove${title}`,
      summary: `Remove ${one}`,
      description: about,
      responses: doneAnswer('Removed.', Done, LOSSES),
    },
  ] as const;
}

/** The creation of an object whose number is given when it is made. */
export function createEndpoint<
  Title extends string,
  Path extends string,
  Fields extends TProperties,
>(kind: DeclaredKind<string, Title, string, Path, Fields>) {
  const { path, title, example } = kind;
  const listPath = path.replace(/\/\{\w+\}$/, '');
  const { one } = wordsOf(kind);
  return {
    ...create,
    operationId: `create${title}`,
    path: listPath,
    params: paramsOf(kind, listPath),
    query: LossesQuery,
    summary: `Create ${one}`,
    description: 'The answer has its number. What is left out gets its default.',
    body: bodySchema(kind),
    bodyExamples: { plain: example },
    responses: createAnswer(
      'It was created.',
      writtenSchema(kind, viewSchema(kind)),
      problemsOf(kind),
    ),
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
    if (name === 'slug') return [name, SLUG.slug];
    const description = `Its ${name}.`;
    const { type, maximum } = Object(schema.properties[name]) as {
      readonly type?: unknown;
      readonly maximum?: number;
    };
    // Every operation with a parameter of this name refers to one component.
    if (type !== 'integer') return [name, Type.String({ description })];
    if (name === 'id' || maximum === undefined) return [name, id({ description })];
    return [name, integer({ minimum: 1, maximum, description })];
  });
  return Object.fromEntries(names) as Readonly<Record<string, TSchema>>;
}
