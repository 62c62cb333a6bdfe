import { followEvents } from './event-stream.ts';
import { waitUntilLive } from './live.ts';
import { type OperationRow, ROWS } from './operation-row.ts';
import { delayBefore, type RetryRules, sleep } from './retry.ts';
import { send, within } from './transport.ts';
import type { AnyCallOptions, KeyClient, OperationId, Reply, SessionClient } from './types.ts';

interface Settings {
  /** Where Portcullis is: `https://portcullis.example`. Default in a browser: the page's own origin. */
  readonly baseUrl?: string;
  /** Attempts after the first; default 3. */
  readonly retries?: number;
  /** For each attempt; default 15 s, more than the service takes to answer. */
  readonly timeoutMs?: number;
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Instead of the runtime's own. */
  readonly fetch?: typeof fetch;
}

export interface KeySettings extends Settings {
  /** An API key of the organisation: `pcl_...`. */
  readonly key: string;
}

export interface SessionSettings extends Settings {
  readonly key?: never;
  /** The slug of the organisation that the operations are for. */
  readonly organisation?: string;
}

/** An operation's input with its types erased. */
interface ErasedInput {
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly body?: unknown;
  readonly [param: string]: unknown;
}

type ErasedCall = (input?: ErasedInput, options?: AnyCallOptions) => Promise<Reply>;

/** RFC 7396. */
const MERGE_PATCH = 'application/merge-patch+json';
const RETRY_AFTER_LIMIT_MS = 60_000;
const TIMEOUT_MS = 15_000;
const RETRIES = 3;

/** A client with a key: every operation of the interfaces. */
export function createClient(settings: KeySettings): KeyClient;
/** A client of the signed-in session of a browser: also the operations of the portal. */
export function createClient(settings?: SessionSettings): SessionClient;
export function createClient(settings: KeySettings | SessionSettings = {}): SessionClient {
  const call = caller(settings);
  const methods: Record<string, ErasedCall> = {};
  const pages: Record<string, (input?: ErasedInput, options?: AnyCallOptions) => unknown> = {};
  for (const [id, row] of ROWS) {
    const method: ErasedCall = (input, options) => call(id, row, input, options);
    methods[id] = method;
    pages[id] = (input, options) => eachPage(method, input, options);
  }
  const client = { ...methods, pages } as unknown as SessionClient;
  return {
    ...client,
    events: (options) => followEvents(streamOf(settings), options ?? {}),
    waitUntilLive: (generation, options) => waitUntilLive(client, generation, options),
  };
}

function streamOf(settings: KeySettings | SessionSettings): Parameters<typeof followEvents>[0] {
  const { key, fetch: fetchAny = globalThis.fetch } = settings;
  const organisation = settings.key === undefined ? settings.organisation : '';
  if (organisation === undefined) throw new TypeError('events need an organisation');
  const prefix = key === undefined ? `/api/portal/organisations/${organisation}/x1` : '/api/x1';
  return {
    fetch: (url, init) => fetchAny(url, init),
    url: `${baseOf(settings.baseUrl)}${prefix}/events`,
    headers: { ...settings.headers, ...(key !== undefined && { authorization: `Bearer ${key}` }) },
  };
}

function caller(settings: KeySettings | SessionSettings) {
  const base = baseOf(settings.baseUrl);
  const rules: RetryRules = {
    retries: settings.retries ?? RETRIES,
    maxRetryAfterMs: RETRY_AFTER_LIMIT_MS,
  };
  const timeoutMs = settings.timeoutMs ?? TIMEOUT_MS;
  const fetchAny = settings.fetch ?? globalThis.fetch;
  const callFetch: typeof fetch = (url, init) => fetchAny(url, init);

  return async (
    id: OperationId,
    row: OperationRow,
    input: ErasedInput = {},
    options: AnyCallOptions = {},
  ): Promise<Reply> => {
    const request = {
      method: row.method,
      url: base + pathOf(id, row, settings, input) + queryOf(input.query),
      headers: headersOf(settings, row, input, options),
      ...(input.body !== undefined && { body: JSON.stringify(input.body) }),
    };
    const isSafe = row.method === 'GET' || row.idempotent;
    const attempts = async (signal: AbortSignal | undefined): Promise<Reply> => {
      for (let attempt = 1; ; attempt++) {
        try {
          return (await send(request, { fetch: callFetch, timeoutMs, signal })) as Reply;
        } catch (error) {
          const delay = delayBefore(rules, { error, attempt, isSafe }, Math.random());
          if (delay === null) throw error;
          await sleep(delay, signal);
        }
      }
    };
    const { signal } = options;
    if (options.timeoutMs === undefined) return attempts(signal);
    return within({ timeoutMs: options.timeoutMs, signal }, attempts);
  };
}

function baseOf(baseUrl: string | undefined): string {
  const { location } = globalThis as { readonly location?: { readonly origin: string } };
  const base = baseUrl ?? location?.origin;
  if (base === undefined) throw new TypeError('baseUrl is missing: say where Portcullis is');
  const url = new URL(base);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw new TypeError(`baseUrl must be an http or https URL: ${base}`);
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}

/** With a session the operations of the interfaces are below the organisation. */
function pathOf(
  id: OperationId,
  { version, path }: OperationRow,
  settings: KeySettings | SessionSettings,
  input: ErasedInput,
): string {
  const isOwn = version === 'portal';
  const isOperator = version === 'operator';
  if (settings.key !== undefined && isOwn) {
    throw new TypeError(`${id} needs a session, not a key`);
  }
  const forSession = isOperator
    ? '/api/portal/operator'
    : `/api/portal/organisations/{organisation}/${version}`;
  const prefix = settings.key !== undefined || isOwn ? `/api/${version}` : forSession;
  return `${prefix}${path}`.replace(/\{(\w+)\}/g, (_, name: string) => {
    const own = name === 'organisation' ? (settings as SessionSettings).organisation : undefined;
    const value = input[name] ?? own;
    if (typeof value !== 'string' && typeof value !== 'number') {
      throw new TypeError(`${id} needs ${name}`);
    }
    // A segment of dots would lead to another path.
    if (/^\.{0,2}$/.test(String(value))) throw new TypeError(`${name} is not valid: "${value}"`);
    return encodeURIComponent(value);
  });
}

function queryOf(query: ErasedInput['query']): string {
  const set = Object.entries(query ?? {}).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)] as [string, string]],
  );
  const text = new URLSearchParams(set).toString();
  return text === '' ? '' : `?${text}`;
}

function headersOf(
  settings: KeySettings | SessionSettings,
  row: { readonly method: string; readonly idempotent: boolean },
  input: ErasedInput,
  options: AnyCallOptions,
): Record<string, string> {
  return {
    accept: 'application/json',
    ...settings.headers,
    ...(settings.key !== undefined && { authorization: `Bearer ${settings.key}` }),
    ...(settings.key === undefined && row.method !== 'GET' && { 'x-portcullis-csrf': '1' }),
    ...(input.body !== undefined && {
      'content-type': row.method === 'PATCH' ? MERGE_PATCH : 'application/json',
    }),
    ...(row.idempotent && { 'idempotency-key': options.idempotencyKey ?? randomKey() }),
    ...(options.ifMatch !== undefined && { 'if-match': options.ifMatch }),
    ...(options.ifNoneMatch !== undefined && { 'if-none-match': options.ifNoneMatch }),
  };
}

/** 128 random bits. crypto.randomUUID is missing on pages without https. */
function randomKey(): string {
  const bytes = globalThis.crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Follows `links.next`: only its query, because its host is the public one, and a key is sent to no other. */
async function* eachPage(
  call: ErasedCall,
  input: ErasedInput = {},
  options?: AnyCallOptions,
): AsyncGenerator<Reply, void> {
  let query = input.query;
  for (;;) {
    const page = await call({ ...input, ...(query && { query }) }, options);
    yield page;
    const { links } = page as { readonly links?: { readonly next?: string | null } };
    if (typeof links?.next !== 'string') return;
    query = Object.fromEntries(new URL(links.next, 'http://next').searchParams);
  }
}
