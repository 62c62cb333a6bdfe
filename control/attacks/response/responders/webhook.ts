import type { ResponderSpec } from '../../../db/schema.ts';
import { type CallResult, OUTPUT_BYTES } from './result.ts';

type Webhook = Extract<ResponderSpec['call'], { kind: 'webhook' }>;

/** Posts JSON; any 2xx is a success. Redirects are not followed, because the secret is for the configured URL. */
export async function callWebhook(
  { url, secret }: Webhook,
  body: string,
  signal: AbortSignal,
): Promise<CallResult> {
  const response = await fetch(url, {
    method: 'POST',
    body,
    signal,
    redirect: 'manual',
    headers: {
      'content-type': 'application/json',
      ...(secret === null ? {} : { authorization: `Bearer ${secret}` }),
    },
  });
  const output = await beginningOf(response);
  // An endpoint that repeats what it received would put the secret into the database and the log.
  const safe = secret === null ? output : output.replaceAll(secret, '[secret]');
  return { succeeded: response.ok, output: `${response.status} ${safe}`.trim() };
}

/** Reads no more of a response than is kept. */
async function beginningOf({ body }: Response): Promise<string> {
  if (body === null) return '';
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length >= OUTPUT_BYTES) break;
  }
  return text.slice(0, OUTPUT_BYTES);
}
