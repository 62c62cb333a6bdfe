import type { TObject, TSchema } from 'typebox';
import {
  asObject,
  type Components,
  createComponents,
  type Json,
  type JsonObject,
  toJson,
} from './components.ts';
import {
  type Endpoint,
  type HeaderUse,
  type Link,
  MERGE_PATCH,
  type OperatorEndpoint,
  type PortalEndpoint,
  type ResponseRow,
  type Row,
} from './endpoint.ts';
import { ENDPOINTS, V1_PREFIX } from './endpoints.ts';
import { REQUEST_HEADERS, RESPONSE_HEADERS, type RequestHeaderName } from './headers.ts';
import { FLAG_NAMES, INFO, TAGS, type Version } from './openapi-texts.ts';
import { Problem, PROBLEMS } from './problems.ts';
import { OPERATOR_ENDPOINTS, OPERATOR_PREFIX } from './operator-endpoints.ts';
import { PORTAL_ENDPOINTS, PORTAL_PREFIX } from './portal-endpoints.ts';
import { X1_ENDPOINTS, X1_PREFIX } from './x1-endpoints.ts';

type AnyEndpoint = Endpoint | OperatorEndpoint | PortalEndpoint;

const TABLES: Readonly<
  Record<Version, { readonly prefix: string; readonly rows: readonly AnyEndpoint[] }>
> = {
  v1: { prefix: V1_PREFIX, rows: ENDPOINTS },
  x1: { prefix: X1_PREFIX, rows: X1_ENDPOINTS },
  portal: { prefix: PORTAL_PREFIX, rows: PORTAL_ENDPOINTS },
  operator: { prefix: OPERATOR_PREFIX, rows: OPERATOR_ENDPOINTS },
};

/** The OpenAPI 3.1 document of a version, derived from its endpoint table. Deterministic. */
export function buildOpenApi(version: Version): JsonObject {
  const { prefix, rows } = TABLES[version];
  const components = createComponents();
  const paths: Record<string, Record<string, JsonObject>> = {};
  for (const row of rows) {
    const path = (paths[row.path] ??= {});
    path[row.method.toLowerCase()] = operation(row, components);
  }
  const used = new Set(rows.map((row) => row.tag));
  return {
    openapi: '3.1.0',
    info: { ...INFO[version], license: { name: 'Apache 2.0', identifier: 'Apache-2.0' } },
    servers: [{ url: prefix, description: 'This server' }],
    security: version === 'portal' ? [{ session: [] }] : [{ apiKey: [] }],
    tags: TAGS.filter(({ name }) => used.has(name)),
    paths,
    components: {
      ...components.collect(),
      securitySchemes: version === 'portal' ? { session: SESSION } : { apiKey: API_KEY },
    },
  };
}

const API_KEY: JsonObject = {
  type: 'http',
  scheme: 'bearer',
  bearerFormat: 'pcl_…',
  description:
    'An organisation API key. It is created in the organisation settings, and its plaintext is shown once.',
};

const SESSION: JsonObject = {
  type: 'apiKey',
  in: 'cookie',
  name: '__Host-portcullis',
  description: 'The session that a sign-in begins.',
};

function operation(row: AnyEndpoint, components: Components): JsonObject {
  const parameters = [
    ...Object.entries(row.params ?? {}).map(([name, schema]) =>
      components.refer('parameters', name, parameter('path', name, schema, components)),
    ),
    ...queryParameters(row.query, components),
    ...(row.requestHeaders ?? []).map((name) => requestHeader(name, components)),
  ];
  return {
    operationId: row.operationId,
    tags: [row.tag],
    summary: row.summary,
    description: `${row.description}\n\n${requirements(row)}`,
    // OpenAPI 3.1 allows required abilities for schemes other than OAuth.
    security: securityOf(row),
    ...(parameters.length > 0 && { parameters }),
    ...(row.body !== undefined && { requestBody: requestBody(row, row.body, components) }),
    ...(row.takesBytes === true && { requestBody: { required: true, content: bytesAs([BYTES]) } }),
    responses: Object.fromEntries(
      Object.entries(row.responses).map(([status, response]) => [
        status,
        responseOf(response, components),
      ]),
    ),
  };
}

function securityOf(row: AnyEndpoint): JsonObject[] {
  if ('operator' in row) return [{ apiKey: [row.operator] }];
  if (!('role' in row)) return [{ apiKey: row.ability === null ? [] : [row.ability] }];
  return row.role === 'anyone' ? [] : [{ session: [row.role] }];
}

function requirements(row: AnyEndpoint): string {
  if ('role' in row) return ROLE_NEEDS[row.role];
  if ('operator' in row) return `The key needs the ability \`${row.operator}\`.`;
  const { ability, flag } = row;
  const needsFlag =
    flag === null
      ? 'The area needs no activation flag.'
      : `The organisation needs the flag \`${flag}\` (${FLAG_NAMES[flag]}).`;
  if (ability === null) return 'The key needs no particular ability.';
  const dryRun = row.dryRun && ` With \`dry_run=true\`, \`${row.dryRun}\` is enough.`;
  return `The key needs the ability \`${ability}\`.${dryRun ?? ''} ${needsFlag}`;
}

const ROLE_NEEDS = {
  anyone: 'Needs no session.',
  user: 'Needs a session.',
  'read-only': 'Needs any role in the organisation.',
  member: 'Needs the role `member` in the organisation.',
  admin: 'Needs the role `admin` in the organisation.',
  owner: 'Needs the role `owner` in the organisation.',
  operator: 'Needs an operator.',
} as const satisfies Readonly<Record<PortalEndpoint['role'], string>>;

function requestBody(row: Row, schema: TSchema, components: Components): JsonObject {
  const examples = Object.entries(row.bodyExamples ?? {}).map(
    ([name, value]) => [name, { value: toJson(value) }] as const,
  );
  return {
    required: true,
    content: {
      [row.method === 'PATCH' ? MERGE_PATCH : 'application/json']: {
        schema: components.schema(schema),
        ...(examples.length > 0 && { examples: Object.fromEntries(examples) }),
      },
    },
  };
}

function parameter(
  location: 'path' | 'query' | 'header',
  name: string,
  schema: TSchema,
  components: Components,
  required = location === 'path',
): JsonObject {
  const { description = '', ...rest } = components.schema(schema);
  return { name, in: location, required, description, schema: rest };
}

function queryParameters(query: TObject | undefined, components: Components): JsonObject[] {
  if (query === undefined) return [];
  const required = new Set<string>(query.required);
  return Object.entries(query.properties).map(([name, schema]) =>
    parameter('query', name, schema, components, required.has(name)),
  );
}

function requestHeader(name: RequestHeaderName, components: Components): JsonObject {
  const { description, schema } = REQUEST_HEADERS[name];
  return components.refer('parameters', name, {
    ...parameter('header', name, schema, components),
    description,
  });
}

function responseOf(row: ResponseRow, components: Components): JsonObject {
  const content = contentOf(row, components);
  const response = {
    description: row.description,
    headers: Object.fromEntries(row.headers.map((use) => responseHeader(use, components))),
    ...(Object.keys(content).length > 0 && { content }),
    ...(row.links !== undefined && { links: linksOf(row.links) }),
  };
  const name = sharedName(row);
  return name === null ? response : components.refer('responses', name, response);
}

function linksOf(links: Readonly<Record<string, Link>>): JsonObject {
  const named = Object.entries(links).map(([name, { body, ...link }]) => [
    name,
    { ...link, ...(body !== undefined && { requestBody: body }) },
  ]);
  return asObject(toJson(Object.fromEntries(named)));
}

/** Responses with one or two problems are shared components; longer lists belong to their operation. */
function sharedName({ schema, problems }: ResponseRow): string | null {
  if (schema !== undefined || problems === undefined || problems.length > 2) return null;
  return problems.map(pascalCase).join('Or');
}

function pascalCase(code: string): string {
  return code.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

const BYTES = 'application/octet-stream';

/** Bytes of these media types: in OpenAPI 3.1 they have no schema. */
function bytesAs(mediaTypes: readonly string[]): JsonObject {
  return Object.fromEntries(mediaTypes.map((mediaType) => [mediaType, {}]));
}

/** One event of a stream, as tools read `text/event-stream`: its fields are text, and `data` is JSON of this schema. */
function eventOf(schema: Json): Json {
  return {
    type: 'object',
    required: ['data'],
    properties: {
      id: { type: 'string', description: 'What to send as Last-Event-ID.' },
      event: { type: 'string', description: 'The kind.' },
      data: { type: 'string', contentMediaType: 'application/json', contentSchema: schema },
    },
  };
}

function contentOf(row: ResponseRow, components: Components): JsonObject {
  const content: Record<string, Json> = {};
  if (row.schema !== undefined) {
    const schema = components.schema(row.schema);
    content[row.mediaType ?? 'application/json'] = {
      schema: row.mediaType === undefined ? schema : eventOf(schema),
      ...(row.example !== undefined && { example: toJson(row.example) }),
    };
  }
  Object.assign(content, bytesAs(row.bytes ?? []));
  if (row.problems !== undefined) {
    content['application/problem+json'] = {
      schema: components.schema(Problem),
      examples: Object.fromEntries(row.problems.map((code) => [code, problemExample(code)])),
    };
  }
  return content;
}

function problemExample(code: keyof typeof PROBLEMS): JsonObject {
  const { status, title, explanation } = PROBLEMS[code];
  const detail = explanation.split('. ', 1)[0]?.replace(/\.?$/, '.') ?? explanation;
  return { value: { type: `/problems/${code}`, title, status, detail, code } };
}

function responseHeader(use: HeaderUse, components: Components): readonly [string, JsonObject] {
  const required = !use.endsWith('?');
  const name = use.replace('?', '') as keyof typeof RESPONSE_HEADERS;
  const { description, schema } = RESPONSE_HEADERS[name];
  const header = { description, required, schema: asObject(components.schema(schema)) };
  return [name, components.refer('headers', required ? name : `Optional-${name}`, header)];
}
