import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import { failed, type Parsed, parsed } from '@portcullis/core/net/parsed.ts';
import { findPublicTarget, type PublicTarget, type Reach } from './public-target.ts';

export interface FetchOptions extends Reach {
  readonly maxBytes: number;
  /** The time for everything, redirects included. */
  readonly timeoutMs: number;
}

const REDIRECTS = 3;
const MIB = 1024 * 1024;

/**
 * Fetches a text from a public address that an operator named, in UTF-8 and of bounded size. Redirects are followed to
 * public addresses alone. A failure is a sentence; it never quotes what was answered.
 */
export async function fetchPublicText(
  text: string,
  options: FetchOptions,
): Promise<Parsed<string>> {
  const signal = AbortSignal.timeout(options.timeoutMs);
  let next = text;
  try {
    for (let hops = 0; hops <= REDIRECTS; hops += 1) {
      const target = await findPublicTarget(next, options, signal);
      const answer = await get(target, signal);
      const { statusCode = 0, headers } = answer;
      if (statusCode >= 300 && statusCode < 400 && headers.location !== undefined) {
        answer.destroy();
        next = new URL(headers.location, target.url).href;
        continue;
      }
      if (statusCode !== 200) {
        answer.destroy();
        return failed(`It was answered with HTTP ${statusCode}.`);
      }
      return await readText(answer, options.maxBytes);
    }
    return failed(`It was redirected more than ${REDIRECTS} times.`);
  } catch {
    const host = URL.parse(next)?.hostname || 'it';
    return failed(
      `No answer from ${host.slice(0, 200)}: its server is down, its certificate is not valid, or it has no public address; only public addresses are fetched from.`,
    );
  }
}

function get({ url, lookup }: PublicTarget, signal: AbortSignal): Promise<IncomingMessage> {
  const { request } = url.protocol === 'https:' ? https : http;
  return new Promise((resolve, reject) => {
    const sent = request(url, {
      lookup,
      agent: false,
      signal,
      headers: { 'user-agent': 'Portcullis', accept: '*/*', connection: 'close' },
    });
    sent.on('error', reject);
    sent.on('response', resolve);
    sent.end();
  });
}

async function readText(answer: IncomingMessage, maxBytes: number): Promise<Parsed<string>> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of answer as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes > maxBytes) {
      answer.destroy();
      return failed(`It is larger than ${maxBytes / MIB} MiB.`);
    }
    parts.push(part);
  }
  try {
    return parsed(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(parts)));
  } catch {
    return failed('It is not text in UTF-8.');
  }
}
