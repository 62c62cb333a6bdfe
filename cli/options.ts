import { isIPv6 } from 'node:net';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { usageError } from './exit.ts';

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** `HOST:PORT`, `[IPv6]:PORT`, `:PORT` (loopback). Port 0 takes a free one. */
export function parseListen(text: string): ListenAddress {
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([^:\s[\]]*)):(\d{1,5})$/.exec(text);
  const port = Number(match?.[3] ?? Number.NaN);
  const bracketed = match?.[1];
  const malformed =
    match === null || port > 65_535 || (bracketed !== undefined && !isIPv6(bracketed));
  if (malformed)
    throw usageError(`--listen ${text} is not HOST:PORT, such as 127.0.0.1:8080 or [::1]:8080`);
  return { host: (bracketed ?? match[2]) || '127.0.0.1', port };
}

export function formatListen({ host, port }: ListenAddress): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Whole milliseconds, seconds or minutes: `500ms`, `120s`, `2m`. At most a day. */
export function parseDuration(text: string, option: string): number {
  const match = /^([1-9]\d{0,7})(ms|s|m)$/.exec(text);
  const unitMs = { ms: 1, s: 1_000, m: 60_000 }[match?.[2] ?? ''] ?? Number.NaN;
  const durationMs = Number(match?.[1]) * unitMs;
  if (!(durationMs <= 86_400_000)) {
    throw usageError(`${option} ${text} is not a time such as 120s, 2m or 500ms`);
  }
  return durationMs;
}

/** http or https without path, query or credentials; returned without a trailing slash. */
export function parsePublicUrl(text: string): string {
  const url = URL.parse(text);
  const plain =
    url !== null &&
    ['http:', 'https:'].includes(url.protocol) &&
    `${url.username}${url.password}${url.search}${url.hash}` === '' &&
    url.pathname === '/';
  if (!plain) throw usageError(`--public-url ${text} is not like https://portcullis.example.net`);
  return url.origin;
}

/** What was asked for, else the system's place as root, else the user's (XDG). */
export function dataDirectory(asked: string | undefined): string {
  const given = asked ?? process.env['PORTCULLIS_DATA'];
  if (given !== undefined && given !== '') return resolve(given);
  if (process.getuid?.() === 0) return '/var/lib/portcullis';
  const state = process.env['XDG_STATE_HOME'] || join(homedir(), '.local', 'state');
  return join(state, 'portcullis');
}
