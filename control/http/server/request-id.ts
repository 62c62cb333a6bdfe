import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

const SANE = /^[A-Za-z0-9][A-Za-z0-9._-]{7,63}$/;

/**
 * The request id of the response, the log and the audit trail. A caller's own id is kept if it is 8 to 64 letters,
 * digits, dots, underscores or dashes, so that both logs can be correlated; any other is replaced.
 */
export function requestIdOf(request: Pick<IncomingMessage, 'headers'>): string {
  const sent = request.headers['x-request-id'];
  return typeof sent === 'string' && SANE.test(sent) ? sent : randomUUID();
}
