import type { IncomingMessage } from 'node:http';
import { failed, type Parsed, parsed } from '@portcullis/core/net/parsed.ts';
import type { Reach } from '@portcullis/link/public-http/public-target.ts';
import { getPublic, RedirectRefused } from '@portcullis/link/public-http/request.ts';

export interface FetchOptions extends Reach {
  readonly maxBytes: number;
  /** The time for everything, redirects included. */
  readonly timeoutMs: number;
}

const MIB = 1024 * 1024;
const HEADERS = { 'user-agent': 'Portcullis', accept: '*/*' } as const;

/**
 * Fetches a text from a public address that an operator named, in UTF-8 and of bounded size. Redirects are followed to
 * public addresses alone. A failure is a sentence; it never quotes what was answered.
 */
export async function fetchPublicText(
  text: string,
  { maxBytes, timeoutMs, ...reach }: FetchOptions,
): Promise<Parsed<string>> {
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    const answer = await getPublic(text, { ...reach, headers: HEADERS }, signal);
    const { statusCode } = answer;
    if (statusCode !== 200) {
      answer.on('error', () => undefined).destroy();
      return failed(`It was answered with HTTP ${statusCode}.`);
    }
    return await readText(answer, maxBytes);
  } catch (error) {
    if (error instanceof RedirectRefused) return failed(error.message);
    const host = URL.parse(text)?.hostname || 'it';
    return failed(
      `No answer from ${host.slice(0, 200)}: its server is down, its certificate is not valid, or it has no public address; only public addresses are fetched from.`,
    );
  }
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
