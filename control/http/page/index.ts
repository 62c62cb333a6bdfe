import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type Asset, createAsset, sendAsset, serveAsset } from '../reference/asset.ts';

/** Made by `npm run build -w portal`, which `npm ci` runs. */
export const PORTAL_FOLDER = join(import.meta.dirname, '..', '..', '..', 'portal', 'dist');

/** Nothing inline, nothing of another host, in no frame. */
export const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "font-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'self'",
].join('; ');

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};
const HEADERS = {
  'content-security-policy': PAGE_POLICY,
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
};
/** Revalidated every time, 304 while unchanged. */
const REVALIDATED = 'no-cache';
/** The name of a file in assets/ holds its digest. */
const FOREVER = 'public, max-age=31536000, immutable';

/** Paths of the service itself, where an unknown one is a problem document for browsers too. */
const OWN_PATHS = /^\/(?:api|docs|problems|healthz|readyz|assets)(?:\/|$)/;

/** Answers a navigation to any path that is not the service's own; null without a built portal. */
export type SendPage = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;

/** Serves the built portal. All files are read now, because the process may not be able to later. */
export function registerPage(
  app: FastifyInstance,
  folder: string = PORTAL_FOLDER,
): SendPage | null {
  if (!existsSync(join(folder, 'index.html'))) return null;
  for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (TYPES[extname(file)] === undefined || file === 'index.html') continue;
    serveAsset(app, `/${file}`, assetOf(folder, file));
  }
  const page = assetOf(folder, 'index.html');
  return (request, reply) => sendAsset(request, reply, page);
}

/** Whether a browser wants to show a page at this path, rather than a script an answer. */
export function isNavigation({ method, url, headers }: FastifyRequest): boolean {
  const path = url.split('?', 1)[0] ?? '';
  const wantsPage = headers.accept?.includes('text/html') === true;
  return (method === 'GET' || method === 'HEAD') && wantsPage && !OWN_PATHS.test(path);
}

function assetOf(folder: string, file: string): Asset {
  return createAsset(readFileSync(join(folder, file)), {
    type: TYPES[extname(file)] ?? 'application/octet-stream',
    cacheControl: file.startsWith('assets/') ? FOREVER : REVALIDATED,
    headers: HEADERS,
  });
}
