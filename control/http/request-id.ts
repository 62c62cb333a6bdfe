import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

const SANE = /^[A-Za-z0-9][A-Za-z0-9._-]{7,63}$/;

/**
 * The id under which a request stands in the answer, the log and the audit trail. A caller's own is kept
 * when it is 8 to 64 letters, digits, dots, underscores or dashes, so that logs of both sides meet;
 * anything else is replaced, never cleaned up.
 */
export function requestIdOf(request: Pick<IncomingMessage, 'headers'>): string {
  const sent = request.headers['x-request-id'];
  return typeof sent === 'string' && SANE.test(sent) ? sent : randomUUID();
}
