import { once } from 'node:events';
import {
  findPublicTarget,
  type PublicTarget,
  type Reach,
} from '@portcullis/link/public-http/public-target.ts';
import { requestPublic } from '@portcullis/link/public-http/request.ts';

export interface SendResult {
  /** Null: there was no answer. */
  readonly status: number | null;
  /** Null: it succeeded. What the owner of the webhook sees. */
  readonly error: string | null;
  /** Why there was no answer, for the operator alone; null with an answer. */
  readonly detail: string | null;
}

export interface SendOptions extends Reach {
  /** The time for everything, from the name to the end of the answer. */
  readonly timeoutMs: number;
}

export interface Message {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** An answer is read to this size and thrown away, so that a receiver need not see its connection break. */
const ANSWER_BYTES = 64 * 1024;
const TEXT_LENGTH = 400;

/**
 * Posts a message; any 2xx is a success. It goes to an address that was checked. Redirects are not followed. Without an answer, the result is one sentence at the end of the time, whatever the reason: otherwise a webhook would tell which
 * ports are open where only this host can look. Throws nothing but the reason of the signal.
 */
export async function sendMessage(
  message: Message,
  options: SendOptions,
  signal: AbortSignal,
): Promise<SendResult> {
  const timeout = AbortSignal.timeout(options.timeoutMs);
  const both = AbortSignal.any([signal, timeout]);
  try {
    const target = await findPublicTarget(message.url, options, both);
    const status = await post(target, message, both);
    return { status, error: describeStatus(status), detail: null };
  } catch (error) {
    const detail = timeout.aborted ? 'the time was over' : describeError(error);
    if (!both.aborted) await once(both, 'abort');
    signal.throwIfAborted();
    return { status: null, error: unanswered(message, options), detail };
  }
}

/** The same for a closed port, a silent one, a name without an address and an address of this host. */
function unanswered({ url }: Message, { timeoutMs }: SendOptions): string {
  const host = URL.parse(url)?.hostname ?? 'it';
  const sentence = `No answer within ${timeoutMs / 1000} s: the receiver is down, its certificate is not valid, or ${host} has no public address; webhooks go to public addresses only.`;
  return sentence.slice(0, TEXT_LENGTH);
}

/** The status of the answer, when it was read or is too long. */
function post(
  target: PublicTarget,
  { headers: own, body }: Message,
  signal: AbortSignal,
): Promise<number> {
  const headers = { ...own, 'user-agent': 'Portcullis-Webhooks/1' };
  return new Promise((resolve, reject) => {
    const sent = requestPublic(target, { method: 'POST', headers, signal });
    let status: number | null = null;
    // The status counts, whatever becomes of the rest of the answer.
    sent.on('error', (error) => (status === null ? reject(error) : resolve(status)));
    sent.on('response', (response) => {
      const { statusCode = 0 } = response;
      status = statusCode;
      let bytes = 0;
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > ANSWER_BYTES) response.destroy();
      });
      response.on('error', () => {});
      response.on('close', () => resolve(statusCode));
    });
    sent.end(body);
  });
}

function describeStatus(status: number): string | null {
  if (status >= 200 && status < 300) return null;
  if (status >= 300 && status < 400) return `HTTP ${status}: redirects are not followed.`;
  return `HTTP ${status}.`;
}

function describeError(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) {
    return describeError(error.errors[0]);
  }
  const text = error instanceof Error ? error.message : String(error);
  return text
    .replaceAll(/\p{Cc}/gu, ' ')
    .toWellFormed()
    .slice(0, TEXT_LENGTH);
}
