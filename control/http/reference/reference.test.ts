import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { fastify, type FastifyInstance } from 'fastify';
import { buildOpenApi } from '@portcullis/contract/openapi.ts';
import { PROBLEM_CODES, PROBLEMS } from '@portcullis/contract/problems.ts';
import { registerReference } from './index.ts';

const app = serve('https://portcullis.example');
const GZIP = { 'accept-encoding': 'gzip, br' };

function serve(publicUrl: string): FastifyInstance {
  const made = fastify();
  registerReference(made, { publicUrl });
  return made;
}

async function scriptUrl(of: FastifyInstance): Promise<string> {
  const { body } = await of.inject('/docs');
  return /<script src="([^"]+)">/.exec(body)?.[1] ?? assert.fail('the page has no script');
}

describe('the API reference', () => {
  it('serves both documents as committed', async () => {
    for (const version of ['v1', 'x1'] as const) {
      const reply = await app.inject(`/api/${version}/openapi.json`);
      assert.equal(reply.statusCode, 200);
      assert.match(String(reply.headers['content-type']), /^application\/json/);
      assert.deepEqual(reply.json(), buildOpenApi(version));
    }
  });

  it('answers 304 only to a matching If-None-Match', async () => {
    const url = '/api/v1/openapi.json';
    const etag = String((await app.inject(url)).headers.etag);
    const again = await app.inject({ url, headers: { 'if-none-match': etag } });
    assert.equal(again.statusCode, 304);
    assert.equal(again.body, '');
    const other = await app.inject({ url, headers: { 'if-none-match': '"other"' } });
    assert.equal(other.statusCode, 200);
  });

  it('names no other host in the page, and its policy allows none', async () => {
    const { body, headers } = await app.inject('/docs');
    assert.doesNotMatch(body, /https?:|\/\/[a-z]/i);
    const policy = String(headers['content-security-policy']);
    for (const directive of [
      "default-src 'none'",
      "script-src 'self'",
      "connect-src 'self'",
      "frame-ancestors 'none'",
    ]) {
      assert.ok(policy.split('; ').includes(directive), directive);
    }
    assert.doesNotMatch(policy, /https?:|\*|unsafe-eval/);
  });

  it('disables all requests of the page to other hosts', async () => {
    const { body } = await app.inject('/docs');
    const text = /data-configuration="([^"]*)"/.exec(body)?.[1]?.replaceAll('&quot;', '"') ?? '';
    const configuration: Record<string, unknown> = JSON.parse(text);
    assert.equal(configuration['telemetry'], false);
    assert.equal(configuration['withDefaultFonts'], false);
    assert.equal(configuration['showDeveloperTools'], 'never');
    assert.deepEqual(configuration['agent'], { disabled: true });
    assert.deepEqual(configuration['mcp'], { disabled: true });
  });

  it('serves the script of the page itself, compressed and immutable', async () => {
    const url = await scriptUrl(app);
    const reply = await app.inject({ url, headers: GZIP });
    assert.equal(reply.statusCode, 200);
    assert.match(String(reply.headers['content-type']), /^text\/javascript/);
    assert.match(String(reply.headers['cache-control']), /immutable/);
    assert.equal(reply.headers['content-encoding'], 'gzip');
    assert.ok(reply.rawPayload.length < 1_500_000);
    const script = gunzipSync(reply.rawPayload).toString();
    assert.match(script, /createApiReference/);
    assert.doesNotMatch(script, /sourceMappingURL/);
  });

  it('sends uncompressed bytes to a client without gzip', async () => {
    for (const accept of ['identity', 'gzip;q=0, *;q=0']) {
      const reply = await app.inject({ url: '/docs', headers: { 'accept-encoding': accept } });
      assert.equal(reply.headers['content-encoding'], undefined);
      assert.match(reply.body, /<!doctype html>/);
    }
  });

  it('keeps its links below the path prefix of a proxy', async () => {
    const below = serve('https://example.net/protection/');
    assert.match(await scriptUrl(below), /^\/protection\/docs\/reference-/);
    const { servers } = (await below.inject('/api/v1/openapi.json')).json<{ servers: unknown[] }>();
    assert.deepEqual(servers, [{ url: '/protection/api/v1', description: 'This server' }]);
    assert.match(
      (await below.inject('/problems')).body,
      /href="\/protection\/problems\/not_found"/,
    );
  });
});

describe('the problem pages', () => {
  it('explain the meaning and the remedy of every code', async () => {
    for (const code of PROBLEM_CODES) {
      const reply = await app.inject(`/problems/${code}`);
      assert.equal(reply.statusCode, 200, code);
      assert.ok(reply.body.includes(`<code>${code}</code>`), code);
      assert.ok(reply.body.includes(PROBLEMS[code].explanation.slice(0, 20)), code);
    }
  });

  it('run no scripts and load no resources', async () => {
    const { body, headers } = await app.inject('/problems/internal');
    assert.doesNotMatch(body, /<script|<link|<img|https?:/);
    assert.match(
      String(headers['content-security-policy']),
      /default-src 'none'; style-src 'sha256-/,
    );
  });

  it('list all codes', async () => {
    for (const path of ['/problems', '/problems/']) {
      const { body } = await app.inject(path);
      for (const code of PROBLEM_CODES) assert.ok(body.includes(`/problems/${code}"`), code);
    }
  });

  it('answer 404 for unknown codes and for properties of Object.prototype', async () => {
    for (const code of ['nothing', '__proto__', 'constructor', '%3Cscript%3E']) {
      assert.notEqual((await app.inject(`/problems/${code}`)).statusCode, 200, code);
    }
  });
});
