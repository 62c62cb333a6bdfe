import assert from 'node:assert/strict';
import { MERGE_PATCH, type Row } from '@portcullis/contract/endpoint.ts';
import { ENDPOINTS, V1_PREFIX } from '@portcullis/contract/endpoints.ts';
import { PROBLEMS, Problem as ProblemSchema } from '@portcullis/contract/problems.ts';
import { OPERATOR_ENDPOINTS, OPERATOR_PREFIX } from '@portcullis/contract/operator-endpoints.ts';
import { PORTAL_ENDPOINTS, PORTAL_PREFIX } from '@portcullis/contract/portal-endpoints.ts';
import { X1_ENDPOINTS, X1_PREFIX } from '@portcullis/contract/x1-endpoints.ts';
import { createValidator } from '@portcullis/contract/validator.ts';

export interface TestReply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body as JSON, or null without a body. */
  readonly body: unknown;
}

export interface TestRequest {
  readonly json?: unknown;
  /** A raw body instead of `json`. */
  readonly raw?: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Calls the server and checks every response against the contract: status, media type, schema and headers. */
export interface TestClient {
  readonly authorization: string | null;
  send(method: string, path: string, request?: TestRequest): Promise<TestReply>;
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<TestReply>;
  post(path: string, json: unknown, headers?: Readonly<Record<string, string>>): Promise<TestReply>;
  put(path: string, json: unknown, headers?: Readonly<Record<string, string>>): Promise<TestReply>;
  delete(path: string, json: unknown): Promise<TestReply>;
}

export function createTestClient(url: string, authorization: string | null): TestClient {
  return clientWith(url, authorization, authorization === null ? {} : { authorization });
}

/** A browser with this session, on pages of the portal. */
export function createSessionClient(url: string, token: string): TestClient {
  const cookie = `__Host-portcullis=${token}`;
  return clientWith(url, null, { cookie, 'sec-fetch-site': 'same-origin' });
}

function clientWith(
  url: string,
  authorization: string | null,
  credentials: Readonly<Record<string, string>>,
): TestClient {
  const send = async (
    method: string,
    path: string,
    request: TestRequest = {},
  ): Promise<TestReply> => {
    const body =
      request.raw ?? (request.json === undefined ? undefined : JSON.stringify(request.json));
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        ...credentials,
        ...(body !== undefined && {
          'content-type': method === 'PATCH' ? MERGE_PATCH : 'application/json',
        }),
        ...request.headers,
      },
      ...(body !== undefined && { body }),
    });
    const text = await response.text();
    const reply = {
      status: response.status,
      headers: response.headers,
      text,
      body: text === '' ? null : (JSON.parse(text) as unknown),
    };
    checkReply(method, path, reply);
    return reply;
  };
  return {
    authorization,
    send,
    get: (path, headers) => send('GET', path, headers === undefined ? {} : { headers }),
    post: (path, json, headers) => send('POST', path, { json, ...(headers && { headers }) }),
    put: (path, json, headers) => send('PUT', path, { json, ...(headers && { headers }) }),
    delete: (path, json) => send('DELETE', path, { json }),
  };
}

const rows: readonly { readonly pattern: RegExp; readonly row: Row }[] = [
  ...ENDPOINTS.map((row) => ({ pattern: patternOf(V1_PREFIX, row), row })),
  ...X1_ENDPOINTS.map((row) => ({ pattern: patternOf(X1_PREFIX, row), row })),
  ...PORTAL_ENDPOINTS.map((row) => ({ pattern: patternOf(PORTAL_PREFIX, row), row })),
  ...[OPERATOR_PREFIX, `${PORTAL_PREFIX}/operator`].flatMap((prefix) =>
    OPERATOR_ENDPOINTS.map((row) => ({ pattern: patternOf(prefix, row), row })),
  ),
];
const validators = new Map<object, ReturnType<typeof createValidator>>();

function patternOf(prefix: string, row: Row): RegExp {
  return new RegExp(`^${prefix}${row.path.replace(/\{\w+\}/g, '[^/]+')}$`);
}

function checkReply(method: string, path: string, reply: TestReply): void {
  assert.match(reply.headers.get('x-request-id') ?? '', /^[A-Za-z0-9._-]{8,64}$/);
  const bare = path.split('?', 1)[0] ?? '';
  const row = rows.find((one) => one.row.method === method && one.pattern.test(bare))?.row;
  // Power and command return some errors in their own envelope.
  const isProblem = reply.headers.get('content-type') === 'application/problem+json';
  const acknowledges = row?.responses[reply.status]?.schema !== undefined && !isProblem;
  if (reply.status >= 400 && method !== 'HEAD' && !acknowledges) checkProblem(reply);
  // A 405 is of a path, not of an operation: `DELETE /servers/quota` is none of `/servers/{server}`.
  if (row === undefined || reply.status === 405) return;
  const promised = row.responses[reply.status];
  assert.ok(promised, `${row.operationId} promises no ${reply.status}: ${reply.text}`);
  for (const use of promised.headers) {
    const name = use.replace('?', '');
    if (!use.endsWith('?'))
      assert.ok(reply.headers.has(name), `${row.operationId} ${reply.status} lacks ${name}`);
  }
  if (reply.status >= 400 && !acknowledges) {
    const code = Reflect.get(Object(reply.body), 'code');
    assert.ok(
      promised.problems?.some((one) => one === code),
      `${row.operationId} does not promise ${code}`,
    );
  } else if (promised.schema !== undefined) {
    assert.equal(reply.headers.get('content-type'), 'application/json; charset=utf-8');
    fits(promised.schema, reply.body);
  } else assert.equal(reply.text, '');
}

function checkProblem(reply: TestReply): void {
  assert.equal(reply.headers.get('content-type'), 'application/problem+json', reply.text);
  fits(ProblemSchema, reply.body);
  const [, kind] =
    Object.entries(PROBLEMS).find(([code]) => code === Reflect.get(Object(reply.body), 'code')) ??
    [];
  assert.equal(kind?.status, reply.status);
}

function fits(schema: object, body: unknown): void {
  const validator = validators.get(schema) ?? createValidator(schema);
  validators.set(schema, validator);
  assert.ok(validator.fits(body), JSON.stringify(validator.explain(body)));
}

/** The member `data` of a success. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters
export function dataOf<T>({ body, status, text }: TestReply): T {
  assert.ok(status < 300, text);
  return (body as { readonly data: T }).data;
}

/** Asserts a problem and returns its document. */
export function assertRefused(
  reply: TestReply,
  status: number,
  code: string,
): Readonly<Record<string, unknown>> {
  assert.equal(reply.status, status, reply.text);
  const document = Object(reply.body) as Record<string, unknown>;
  assert.equal(document['code'], code);
  assert.equal(document['type'], `/problems/${code}`);
  return document;
}
