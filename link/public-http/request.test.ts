import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, it, type TestContext } from 'node:test';
import { type Cidr, parseCidr } from '@portcullis/core/net/cidr.ts';
import { NotReachable } from './public-target.ts';
import { getPublic, MAX_REDIRECTS, RedirectRefused } from './request.ts';

const network = (cidr: string): Cidr => {
  const parsed = parseCidr(cidr);
  assert.ok(parsed.ok);
  return parsed.value;
};
const OPEN = network('127.0.0.1/32');

async function serve(t: TestContext, listener: RequestListener, host = '127.0.0.1') {
  const server: Server = createServer(listener);
  server.listen(0, host);
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

const signal = () => AbortSignal.timeout(20_000);
const get = (url: string, resolve: (name: string) => readonly string[] = () => []) =>
  getPublic(
    url,
    { networks: [OPEN], resolve: async (name) => resolve(name), headers: { accept: '*/*' } },
    signal(),
  );

describe('a request to an address that a caller named', () => {
  it('follows five redirects and no more', async (t) => {
    let asked = 0;
    const port = await serve(t, (request, response) => {
      asked += 1;
      const left = Number(request.url?.slice(1));
      if (left === 0) response.end('the file');
      else response.writeHead(302, { location: `/${left - 1}` }).end();
    });
    const url = `http://127.0.0.1:${port}`;
    assert.equal(await text(await get(`${url}/${MAX_REDIRECTS}`)), 'the file');
    assert.equal(asked, 6);
    await assert.rejects(get(`${url}/${MAX_REDIRECTS + 1}`), RedirectRefused);
    assert.equal(asked, 12);
  });

  it('goes to none that is not public, by address, name or redirect', async (t) => {
    let reached = 0;
    const inside = await serve(t, (_, response) => response.end(`${(reached += 1)}`), '127.0.0.2');
    const outside = await serve(t, (request, response) => {
      const location = decodeURIComponent(request.url?.slice(1) ?? '');
      response.writeHead(307, { location }).end();
    });
    const names: Readonly<Record<string, readonly string[]>> = {
      'loopback.example.net': ['127.0.0.2'],
      'private.example.net': ['10.0.0.1', '192.168.0.1', '172.16.0.1', '100.64.0.1'],
      'link.example.net': ['169.254.169.254', 'fe80::1'],
      'mapped.example.net': [
        '::ffff:127.0.0.2',
        '64:ff9b::7f00:2',
        '2002:7f00:2::1',
        '::127.0.0.2',
      ],
      'multicast.example.net': ['224.0.0.1', 'ff02::1', '255.255.255.255', '0.0.0.0', '::'],
      'unique.example.net': ['fd00:ec2::254', 'fc00::1'],
      'none.example.net': [],
    };
    const urls = [
      ...Object.keys(names).map((name) => `http://${name}:${inside}/`),
      `http://127.0.0.2:${inside}/`,
      `http://[::ffff:127.0.0.2]:${inside}/`,
      `http://0x7f000002:${inside}/`,
      `http://2130706434:${inside}/`,
      `http://127.2:${inside}/`,
      'file:///etc/passwd',
      'gopher://127.0.0.2/',
    ];
    for (const url of urls) {
      const resolve = (name: string): readonly string[] => names[name] ?? [];
      await assert.rejects(get(url, resolve), NotReachable, url);
      const redirect = `http://127.0.0.1:${outside}/${encodeURIComponent(url)}`;
      await assert.rejects(get(redirect, resolve), NotReachable, `redirect to ${url}`);
    }
    assert.equal(reached, 0);
  });

  it('goes to the address that was checked, though the name has another one by then', async (t) => {
    let reached = 0;
    const inside = await serve(t, (_, response) => response.end(`${(reached += 1)}`), '127.0.0.2');
    const port = await serve(t, (request, response) => {
      if (request.url === '/again')
        response.writeHead(302, { location: `http://rebind.example.net:${inside}/` }).end();
      else response.end(request.headers.host);
    });
    let asked = 0;
    // The first answer is good, and every later one leads inside.
    const rebind = () => [(asked += 1) === 1 ? '127.0.0.1' : '127.0.0.2'];
    const answer = await get(`http://rebind.example.net:${port}/`, rebind);
    assert.equal(await text(answer), `rebind.example.net:${port}`);
    assert.equal(asked, 1, 'the connection looks nothing up again');
    asked = 0;
    await assert.rejects(get(`http://rebind.example.net:${port}/again`, rebind), NotReachable);
    assert.deepEqual([asked, reached], [2, 0]);
  });

  it('goes to a part of the addresses of a name, those that may be reached', async (t) => {
    const port = await serve(t, (_, response) => response.end('good'));
    const mixed = () => ['10.0.0.1', '127.0.0.2', '127.0.0.1'];
    assert.equal(await text(await get(`http://mixed.example.net:${port}/`, mixed)), 'good');
  });

  it('goes to no network that is closed, though it is public or opened', async (t) => {
    const port = await serve(t, (_, response) => response.end());
    const options = { headers: {}, networks: [OPEN], closed: [network('127.0.0.0/8')] };
    await assert.rejects(getPublic(`http://127.0.0.1:${port}/`, options, signal()), NotReachable);
    const closed = { headers: {}, networks: [], closed: [network('9.9.9.0/24')] };
    await assert.rejects(getPublic('http://9.9.9.9/', closed, signal()), NotReachable);
  });

  it('carries no credentials, neither of its URL nor of a redirect', async (t) => {
    const seen: (string | undefined)[] = [];
    const port = await serve(t, (request, response) => {
      seen.push(request.headers.authorization, request.headers.cookie);
      if (request.url === '/') response.end('x');
      else {
        const location = `http://user:secret@127.0.0.1:${port}/`;
        response.writeHead(302, { location, 'set-cookie': 'a=b' }).end();
      }
    });
    await assert.rejects(get(`http://user:secret@127.0.0.1:${port}/`), NotReachable);
    await assert.rejects(get(`http://127.0.0.1:${port}/there`), NotReachable);
    assert.deepEqual(seen, [undefined, undefined]);
  });

  it('ends with its signal, whatever the server does', async (t) => {
    const port = await serve(t, () => undefined);
    const reason = new Error('enough');
    const ended = AbortSignal.timeout(50);
    const options = { headers: {}, networks: [OPEN] };
    await assert.rejects(getPublic(`http://127.0.0.1:${port}/`, options, ended));
    await assert.rejects(
      getPublic(`http://127.0.0.1:${port}/`, options, AbortSignal.abort(reason)),
      (error) => error === reason || (error as Error).cause === reason,
    );
  });
});
