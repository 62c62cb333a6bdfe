import type { FastifyInstance } from 'fastify';
import { buildOpenApi } from '@portcullis/contract/openapi.ts';
import { PROBLEM_CODES } from '@portcullis/contract/problems.ts';
import { notFoundPath } from '../operations/not-found.ts';
import { type Asset, createAsset, sendAsset, serveAsset } from './asset.ts';
import { DOCS_POLICY, renderDocsPage } from './docs-page.ts';
import { renderFilterPages } from './filter-pages.ts';
import { PAGE_POLICY, type Pages } from './page.ts';
import { renderProblemIndex, renderProblemPage } from './problem-pages.ts';
import { readScalarBundle } from './scalar-bundle.ts';

const HTML = 'text/html; charset=utf-8';
/** Revalidated every time, 304 while unchanged. */
const REVALIDATED = 'public, no-cache';
/** Its URL holds its digest. */
const FOREVER = 'public, max-age=31536000, immutable';

const DOCUMENTS = [
  { version: 'v1', title: 'Portcullis API v1' },
  { version: 'x1', title: 'Experimental API x1' },
  { version: 'operator', title: 'Operator API' },
  { version: 'portal', title: 'Portal' },
] as const;

/**
 * Serves the public documentation: both OpenAPI documents, the reference page at /docs, and a page per problem and filter. All
 * files are read now, because the process may not be able to later. `publicUrl` may have a path behind a proxy.
 */
export function registerReference(
  app: FastifyInstance,
  { publicUrl }: { readonly publicUrl: string },
): void {
  const base = new URL(publicUrl).pathname.replace(/\/+$/, '');
  app.get('/', { config: { operationId: 'reference' } }, (_request, reply) =>
    reply.redirect(`${base}/docs`),
  );
  registerDocuments(app, base);
  registerDocs(app, base);
  registerPages(app, '/problems', problemPages(base));
  registerPages(app, '/docs/filters', renderFilterPages(base));
}

function registerDocuments(app: FastifyInstance, base: string): void {
  for (const { version } of DOCUMENTS) {
    const document = buildOpenApi(version);
    const servers = [{ url: `${base}/api/${version}`, description: 'This server' }];
    const asset = createAsset(JSON.stringify({ ...document, servers }), {
      type: 'application/json; charset=utf-8',
      cacheControl: REVALIDATED,
      // The document is public for any origin.
      headers: { 'access-control-allow-origin': '*' },
    });
    serveAsset(app, `/api/${version}/openapi.json`, asset);
  }
}

function registerDocs(app: FastifyInstance, base: string): void {
  const script = createAsset(readScalarBundle(), {
    type: 'text/javascript; charset=utf-8',
    cacheControl: FOREVER,
  });
  const path = `/docs/reference-${script.digest}.js`;
  const sources = DOCUMENTS.map(({ version, title }) => ({
    title,
    slug: version,
    url: `${base}/api/${version}/openapi.json`,
  }));
  serveAsset(app, path, script);
  serveAsset(app, '/docs', htmlAsset(renderDocsPage(`${base}${path}`, sources), DOCS_POLICY));
}

function problemPages(base: string): Pages {
  return {
    index: renderProblemIndex(base),
    pages: new Map(PROBLEM_CODES.map((code) => [code, renderProblemPage(code, base)])),
  };
}

function registerPages(app: FastifyInstance, path: string, { index, pages }: Pages): void {
  const indexAsset = htmlAsset(index, PAGE_POLICY);
  serveAsset(app, path, indexAsset);
  serveAsset(app, `${path}/`, indexAsset);
  const assets = new Map([...pages].map(([name, html]) => [name, htmlAsset(html, PAGE_POLICY)]));
  app.get<{ Params: { name: string } }>(
    `${path}/:name`,
    { config: { operationId: 'reference' } },
    (request, reply) => {
      const page = assets.get(request.params.name);
      if (page === undefined) throw notFoundPath();
      return sendAsset(request, reply, page);
    },
  );
}

function htmlAsset(html: string, policy: string): Asset {
  return createAsset(html, {
    type: HTML,
    cacheControl: REVALIDATED,
    headers: { 'content-security-policy': policy, 'referrer-policy': 'no-referrer' },
  });
}
