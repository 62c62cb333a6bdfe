import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { fastify } from 'fastify';
import { isNavigation, registerPage } from './index.ts';

const folder = mkdtempSync(join(tmpdir(), 'portcullis-page-'));
after(() => rmSync(folder, { recursive: true }));
mkdirSync(join(folder, 'assets'));
writeFileSync(join(folder, 'index.html'), '<!doctype html><title>the page</title>');
writeFileSync(join(folder, 'assets', 'index-abc.js'), 'export {};');
writeFileSync(join(folder, 'assets', 'index-abc.js.map'), '{}');

function serve(from: string) {
  const app = fastify();
  const sendPage = registerPage(app, from);
  app.addHook('onRequest', (request, reply, done) => {
    if (sendPage !== null && request.is404 && isNavigation(request)) void sendPage(request, reply);
    else done();
  });
  return app;
}

const app = serve(folder);
const BROWSER = { accept: 'text/html,application/xhtml+xml' };

describe('the page of the portal', () => {
  it('answers a navigation to any path that is not the service’s', async () => {
    for (const url of [
      '/addresses',
      '/addresses/203.0.113.7?tab=drops',
      '/addresses/2001:db8::1',
    ]) {
      const reply = await app.inject({ url, headers: BROWSER });
      assert.equal(reply.statusCode, 200, url);
      assert.match(reply.body, /the page/);
    }
  });

  it('leaves unknown paths of the service, scripts and writes to the service', async () => {
    for (const url of [
      '/api/v1/nothing',
      '/api',
      '/docs/nothing',
      '/problems/nothing',
      '/assets/old.js',
    ]) {
      assert.equal((await app.inject({ url, headers: BROWSER })).statusCode, 404, url);
    }
    assert.equal((await app.inject({ url: '/addresses' })).statusCode, 404);
    const post = await app.inject({ method: 'POST', url: '/addresses', headers: BROWSER });
    assert.equal(post.statusCode, 404);
  });

  it('allows nothing inline, no other host and no frame, and no cached page', async () => {
    const { headers } = await app.inject({ url: '/', headers: BROWSER });
    const policy = String(headers['content-security-policy']);
    for (const directive of ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"]) {
      assert.ok(policy.split('; ').includes(directive), directive);
    }
    assert.doesNotMatch(policy, /unsafe|https?:|\*/);
    assert.equal(headers['cache-control'], 'no-cache');
  });

  it('lets what has its digest in its name be kept for good, and serves nothing else of the folder', async () => {
    const script = await app.inject('/assets/index-abc.js');
    assert.match(String(script.headers['cache-control']), /immutable/);
    assert.match(String(script.headers['content-type']), /^text\/javascript/);
    assert.equal((await app.inject('/assets/index-abc.js.map')).statusCode, 404);
    assert.equal((await app.inject('/assets/..%2findex.html')).statusCode, 404);
  });

  it('is absent without a build', async () => {
    const bare = serve(join(folder, 'assets'));
    assert.equal((await bare.inject({ url: '/addresses', headers: BROWSER })).statusCode, 404);
  });
});
