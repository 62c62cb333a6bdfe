import { type Static, type TObject, type TProperties, type TSchema, Type } from 'typebox';
import { type OperatorEndpoint, RATE_HEADERS, type ResponseRow } from '../endpoint.ts';
import type { ProblemCode } from '../problems.ts';
import {
  bodySchema,
  type DeclaredKind,
  type Filled,
  patchSchema,
  pathNames,
} from '../schemas/declared/declared-kind.ts';
import { owner } from '../schemas/operator.ts';
import { Done } from '../schemas/portal-account.ts';
import { CLOSED, id } from '../schemas/values.ts';
import {
  change,
  doneAnswer,
  read,
  readAnswer,
  remove,
  replace,
  saveAnswer,
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
      summary: `List the ${many}`,
      description: 'As they are declared, by the fleet file or by hand.',
      responses: readAnswer(`The ${many}.`, answerOf(Type.Array(View), plural)),
    },
    {
      ...read,
      operationId: `read${title}`,
      path,
      params: paramsOf(kind, path),
      summary: `Read ${one}`,
      description: 'As it is declared. Its ETag is what `If-Match` of a write takes.',
      responses: readAnswer(`The ${called}.`, answerOf(View, title)),
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
  const Answered = answerOf(viewSchema(kind), title);
  const answers = { ...saveAnswer(now, Answered, LOSSES), ...tagged(200, now, Answered) };
  const where = { path, params: paramsOf(kind, path), query: LossesQuery };
  return [
    {
      ...replace,
      ...where,
      operationId: `save${title}`,
      summary: `Create or replace ${one}`,
      description:
        'The body is the whole object: what is left out gets its default. With `If-None-Match: *` it only creates, and with `If-Match` it only replaces what was read; otherwise 412.',
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

function tagged(status: 200 | 201, description: string, schema: TObject) {
  const headers = [...RATE_HEADERS, 'Portcullis-Generation?', 'ETag?'] as const;
  return { [status]: { description, schema, headers } } satisfies Readonly<
    Record<number, ResponseRow>
  >;
}

/** An object as it is answered: every field, and who declares it. */
function viewSchema<Fields extends TProperties>({
  title,
  schema,
}: Pick<DeclaredKind<string, string, string, string, Fields>, 'title' | 'schema'>) {
  const { properties } = filled({ properties: schema.properties });
  const shown = { ...properties, owner };
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
  const members = Object.entries(properties ?? {});
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

function answerOf<S extends Parameters<typeof Type.Array>[0]>(data: S, title: string) {
  return Type.Object({ data }, { title: `Declared${title}Answer` });
}

function paramsOf<Fields extends TProperties>(
  { schema }: Pick<DeclaredKind<string, string, string, string, Fields>, 'schema'>,
  path: string,
) {
  const names = pathNames(path).map((name) => {
    const { type }: { readonly type?: unknown } = schema.properties[name] ?? {};
    const description = `Its ${name}.`;
    // Every operation with a parameter of this name refers to one component.
    return [name, type === 'integer' ? id({ description }) : Type.String({ description })];
  });
  return Object.fromEntries(names) as Readonly<Record<string, TSchema>>;
}
