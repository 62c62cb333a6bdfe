import { failed, unavailable, usageError } from './exit.ts';
import { DEFAULT_URL } from './installation/command-line.ts';
import type { ApiOptions } from './options.ts';

const TIMEOUT_MS = 15_000;

/** Returns the body of a successful response. Throws a CliError with the problem text otherwise. */
export async function callApi(
  options: ApiOptions,
  method: 'GET' | 'POST' | 'DELETE',
  path: string,
  body?: object,
): Promise<unknown> {
  const key = options.key ?? process.env['PORTCULLIS_API_KEY'];
  if (key === undefined || key === '')
    throw usageError('an API key is needed: set PORTCULLIS_API_KEY');
  const base = options.url ?? process.env['PORTCULLIS_URL'] ?? DEFAULT_URL;
  if (!URL.canParse(base)) throw usageError(`--url ${base} is not a URL such as ${DEFAULT_URL}`);
  const url = new URL(path, base);
  const response = await fetch(url, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  }).catch((error: unknown) => {
    throw unavailable(
      `no control plane answers at ${url.origin}: is it up, and is --url right?`,
      error,
    );
  });
  const answer: unknown = await response.json().catch(() => null);
  if (response.ok) return answer;
  // Power and command answer a refusal with an acknowledgement instead of a problem.
  if (isAcknowledgement(answer)) throw failed(answer.message);
  const text = problemText(response, answer);
  if (response.status >= 500) throw unavailable(text);
  throw (Object(answer) as Problem).code === 'invalid_request' ? usageError(text) : failed(text);
}

/** The answer to a write. */
export interface Accepted {
  readonly data: object;
  readonly message: string;
}

function isAcknowledgement(body: unknown): body is { readonly message: string } {
  const { ok, message } = Object(body) as { readonly ok?: unknown; readonly message?: unknown };
  return ok === false && typeof message === 'string';
}

/** The detail of a problem and its invalid parameters. */
function problemText(response: Response, body: unknown): string {
  const { code, detail, errors = [] } = Object(body) as Problem;
  const reasons = errors.map(({ parameter, pointer, detail: why }) =>
    [parameter ?? pointer, why].filter(Boolean).join(' '),
  );
  // The detail of this problem says nothing more.
  if (code === 'invalid_request' && reasons.length > 0) return reasons.join('; ');
  const whole = typeof detail === 'string' ? detail : `control answered ${response.status}`;
  return [whole, ...reasons].join(' ');
}

interface Problem {
  readonly code?: unknown;
  readonly detail?: unknown;
  readonly errors?: readonly {
    readonly parameter?: string;
    readonly pointer?: string;
    readonly detail: string;
  }[];
}
