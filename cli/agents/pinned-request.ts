import { request as requestPlain } from 'node:http';
import { request as requestEncrypted } from 'node:https';
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { issuerOf } from '@portcullis/caller/authority.ts';
import { failed, unavailable } from '@portcullis/caller/exit.ts';

const TIMEOUT_MS = 15_000;
const MAX_CLOCK_ERROR_MS = 300_000;

interface Control {
  readonly url: URL;
  /** SHA-256 of the certificate of the installation's own authority. */
  readonly fingerprint: string;
}

/**
 * Calls control, whose certificate must be of an authority of this system, or of the one with this fingerprint. Returns the
 * `data` of its answer; throws a CliError with control's words.
 */
export async function postToControl<T>(
  { url, fingerprint }: Control,
  path: string,
  body: object,
): Promise<T> {
  const target = new URL(`${url.pathname.replace(/\/+$/, '')}/api/portal${path}`, url);
  const options = {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-portcullis-csrf': '1' },
    timeout: TIMEOUT_MS,
    // A connection of its own, so that its certificate is checked each time.
    agent: false,
    // Checked below: a private authority is none of this system.
    rejectUnauthorized: false,
  };
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const isEncrypted = target.protocol === 'https:';
  const sent = (isEncrypted ? requestEncrypted : requestPlain)(target, options, resolve);
  sent.on('error', reject);
  sent.on('timeout', () => sent.destroy(new Error('it does not answer')));
  sent.on('socket', (socket) => {
    if (!isEncrypted) {
      sent.end(JSON.stringify(body));
      return;
    }
    // The body is secret: it is sent once the certificate is accepted.
    socket.once('secureConnect', () => {
      const problem = problemOf(
        socket as TLSSocket,
        target.hostname.replaceAll(/^\[|\]$/g, ''),
        fingerprint,
      );
      if (problem === null) sent.end(JSON.stringify(body));
      else sent.destroy(new Error(problem));
    });
  });
  const response = await promise.catch((error: Error) => {
    throw unavailable(`control cannot be used at ${url.origin}: ${error.message}`, error);
  });
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  requireClock(response);
  return readAnswer(response.statusCode ?? 0, Buffer.concat(chunks).toString()) as T;
}

function problemOf(socket: TLSSocket, host: string, fingerprint: string): string | null {
  if (socket.authorized) return null;
  const leaf = socket.getPeerX509Certificate();
  if (leaf === undefined) return 'it shows no certificate';
  const isNamed = isIP(host) === 0 ? leaf.checkHost(host) : leaf.checkIP(host);
  if (isNamed === undefined) return `its certificate is for ${leaf.subjectAltName ?? 'no name'}`;
  const now = Date.now();
  if (Date.parse(leaf.validFrom) > now || Date.parse(leaf.validTo) < now) {
    return `its certificate is valid from ${leaf.validFrom} to ${leaf.validTo}: is the clock of this host right?`;
  }
  if (issuerOf(leaf, fingerprint) !== null) return null;
  return 'its certificate is neither of an authority of this system nor of the one in the token: is this the right URL?';
}

/** With a wrong clock no certificate could be checked, and the edge's reports would be of another time. */
function requireClock({ headers }: IncomingMessage): void {
  const errorMs = Date.now() - Date.parse(headers.date ?? '');
  if (Math.abs(errorMs) <= MAX_CLOCK_ERROR_MS || Number.isNaN(errorMs)) return;
  const direction = errorMs > 0 ? 'ahead of' : 'behind';
  throw failed(
    `the clock of this host is ${Math.round(Math.abs(errorMs) / 1_000)} s ${direction} control's: set it first`,
  );
}

/** The `data` of an answer of control. */
function readAnswer(status: number, text: string): unknown {
  let answer: { readonly data?: unknown; readonly detail?: string } = {};
  try {
    answer = Object(JSON.parse(text));
  } catch {
    // Of something that is not control.
  }
  if (status === 200 && answer.data !== undefined) return answer.data;
  const detail =
    answer.detail ?? `it answered ${status}, and not as control does: is the URL right?`;
  throw status >= 500 ? unavailable(detail) : failed(detail);
}
