import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ReceivedMessage {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly body: { readonly type: string; readonly data: Readonly<Record<string, unknown>> };
}

export interface Receiver {
  readonly url: string;
  readonly received: readonly ReceivedMessage[];
  /** Resolves when this many messages have come. */
  got(count: number): Promise<readonly ReceivedMessage[]>;
}

/** How a receiver answers; nothing is sent when it returns without having ended the response. */
export type Answer = (response: ServerResponse, message: ReceivedMessage) => void;

export const ok: Answer = (response) => void response.writeHead(204).end();

/** An HTTP server on loopback that keeps what it gets. */
export async function startReceiver(
  t: { after(stop: () => Promise<void>): void },
  answer: Answer = ok,
): Promise<Receiver> {
  const received: ReceivedMessage[] = [];
  const waiting = new Set<() => void>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString();
      const body = (text === '' ? {} : JSON.parse(text)) as ReceivedMessage['body'];
      const message = { path: request.url ?? '', headers: request.headers, text, body };
      received.push(message);
      answer(response, message);
      for (const done of waiting) done();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    received,
    got: (count) =>
      new Promise((resolve) => {
        const done = (): void => {
          if (received.length < count) return;
          waiting.delete(done);
          resolve(received);
        };
        waiting.add(done);
        done();
      }),
  };
}

/** Verifies as a receiver does that has read the specification of Standard Webhooks and nothing of ours. */
export function isAuthentic({ headers, text }: ReceivedMessage, whsec: string): boolean {
  const key = Buffer.from(whsec.replace(/^whsec_/, ''), 'base64');
  const id = String(headers['webhook-id']);
  const timestamp = String(headers['webhook-timestamp']);
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > 300) return false;
  const expected = createHmac('sha256', key).update(`${id}.${timestamp}.${text}`).digest();
  return String(headers['webhook-signature'])
    .split(' ')
    .map((entry) => entry.split(','))
    .filter(([version]) => version === 'v1')
    .some(([, signature = '']) => {
      const given = Buffer.from(signature, 'base64');
      return given.length === expected.length && timingSafeEqual(given, expected);
    });
}
