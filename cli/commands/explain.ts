import { failed, unavailable, usageError } from '../exit.ts';
import { print, printJson, styled } from '../output.ts';
import type { ExplainOptions } from '../program/explain.ts';

interface Explanation {
  readonly data: {
    readonly verdict: 'pass' | 'drop';
    readonly stage: string;
    readonly decided_by: { readonly kind: string; readonly id: number | null } | null;
    readonly explanation: string;
  };
}

const TIMEOUT_MS = 15_000;
const DEFAULT_URL = 'http://127.0.0.1:8080';

/** `portcullis explain`: asks control, so that the answer is about what is stored, not about a guess. */
export async function explain(ip: string, options: ExplainOptions): Promise<void> {
  const answer = await ask(ip, options);
  if (options.json === true) {
    printJson(answer);
    return;
  }
  const { verdict, stage, decided_by: by, explanation } = answer.data;
  print(verdict === 'pass' ? styled('green', 'pass') : styled('red', 'drop'));
  print(explanation);
  print(`stage: ${stage}${by === null ? '' : `, decided by ${by.kind} ${by.id ?? ''}`.trimEnd()}`);
}

async function ask(ip: string, options: ExplainOptions): Promise<Explanation> {
  const key = options.key ?? process.env['PORTCULLIS_API_KEY'];
  if (key === undefined || key === '')
    throw usageError('an API key is needed: set PORTCULLIS_API_KEY');
  const base = options.url ?? process.env['PORTCULLIS_URL'] ?? DEFAULT_URL;
  if (!URL.canParse(base)) throw usageError(`--url ${base} is not a URL such as ${DEFAULT_URL}`);
  const url = new URL(`/api/x1/firewall/ips/${encodeURIComponent(ip)}/explain`, base);
  const response = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(packetOf(options)),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  }).catch((error: unknown) => {
    throw unavailable(
      `no control plane answers at ${url.origin}: is it up, and is --url right?`,
      error,
    );
  });
  const body: unknown = await response.json().catch(() => null);
  if (response.ok) return body as Explanation;
  throw response.status >= 500
    ? unavailable(problemText(response, body))
    : failed(problemText(response, body));
}

function packetOf(options: ExplainOptions): object {
  const number = Number(options.protocol);
  return {
    protocol: /^\d{1,3}$/.test(options.protocol) ? number : options.protocol,
    source_ip: options.from,
    ...numeric('destination_port', '--port', options.port),
    ...numeric('source_port', '--source-port', options.sourcePort),
    ...numeric('icmp_type', '--icmp-type', options.icmpType),
    ...(options.view === undefined ? {} : { view: options.view }),
  };
}

function numeric(field: string, option: string, text: string | undefined): object {
  if (text === undefined) return {};
  if (!/^\d{1,5}$/.test(text)) throw usageError(`${option} ${text} is not a number`);
  return { [field]: Number(text) };
}

function problemText(response: Response, body: unknown): string {
  const problem = Object(body) as { detail?: unknown; errors?: readonly { detail: string }[] };
  const reasons = (problem.errors ?? []).map((one) => one.detail);
  const detail =
    typeof problem.detail === 'string' ? problem.detail : `control answered ${response.status}`;
  return [detail, ...reasons].join(' ');
}
