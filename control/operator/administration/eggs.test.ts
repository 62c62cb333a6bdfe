import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { basename, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { sql } from 'kysely';
import { parseCidr } from '@portcullis/core/net/cidr.ts';
import type { HostEngines } from '@portcullis/core/game-servers/host-engines.ts';
import { OPERATOR_PREFIX as API } from '@portcullis/contract/operator-endpoints.ts';
import type { Db } from '../../db/database.ts';
import { assertRefused, dataOf } from '../../testing/client.ts';
import { startEnvironment } from '../../testing/fixture.ts';
import { addNode } from '../../game-servers/testing/servers.ts';
import { TestNode } from '../../game-servers/testing/node.ts';
import { fetchPublicText } from '../../webhooks/fetch-text.ts';

const EGGS = join(import.meta.dirname, '..', '..', '..', 'eggs');
const FILES = globSync('*.json', { cwd: EGGS });
const LIMITS = { memory: 256, cpu: 100, disk: 512 };
const SERVER = { organisation: 'hive', service: 900, name: 'One', limits: LIMITS };
const ADDRESS = '198.51.100.20';

interface Egg {
  readonly name: string;
  readonly title: string;
  readonly variables: readonly { readonly env: string }[];
  readonly hosts: readonly {
    readonly node: string;
    readonly ok: boolean;
    readonly reason: string | null;
    readonly commands: readonly string[];
    readonly image: string | null;
  }[];
}

async function start(t: TestContext) {
  const environment = await startEnvironment(t);
  const operator = await environment.client({
    organisationId: null,
    abilities: ['operator.read', 'operator.manage'],
  });
  dataOf(await operator.put(`${API}/organisations/hive`, { name: 'Hive' }));
  dataOf(
    await operator.put(`${API}/organisations/hive/services/900`, { name: 'lobby', active: true }),
  );
  const offer = { addresses: [ADDRESS], ports: '20000-20100' };
  dataOf(await operator.put(`${API}/nodes/big`, offer));
  return { ...environment, operator };
}

async function report(db: Db, host: HostEngines): Promise<void> {
  const engine = JSON.stringify({ kind: 'docker', version: '27', problem: null, host });
  await sql`update nodes set last_seen_at = now(), engine = ${engine}::jsonb where name = 'big'`.execute(
    db,
  );
}

const IMAGE = {
  name: 'flying-squid',
  reference: 'portcullis/flying-squid',
  state: 'missing',
  step: null,
  percent: null,
  problem: null,
} as const;
const READY: HostEngines = {
  docker: { version: '27', lack: null },
  programs: ['portcullis/hearth'],
  images: [IMAGE],
};

test('every shipped egg is taken as a document too, with the line ends of its scripts, and by its own name', async (t) => {
  const { operator, db } = await start(t);
  await report(db, { ...READY, images: [] });
  assert.ok(FILES.length > 5);
  for (const file of FILES) {
    const document = JSON.parse(readFileSync(join(EGGS, file), 'utf8')) as { name: string };
    const body = { ...SERVER, name: basename(file), node: 'big', egg_document: document };
    const server = dataOf<{ egg: string }>(await operator.post(`${API}/game-servers`, body));
    assert.equal(server?.egg, document.name, file);
  }
});

test('other fields take no line ends beside a document, and a document nothing that cannot be stored', async (t) => {
  const { operator } = await start(t);
  const document = {
    meta: { version: 'PTDL_v2' },
    name: 'Own',
    docker_images: { main: 'ghcr.io/games/own:1' },
    startup: './run',
    config: { startup: '{\r\n\t"done": "up"\r\n}', stop: '^C', files: '{}' },
    scripts: {
      installation: {
        script: '#!/bin/bash\n\techo "\u001b[1mdone"\n',
        container: 'alpine',
        entrypoint: 'ash',
      },
    },
    variables: [],
  };
  const body = { ...SERVER, node: 'big', egg_document: document };
  const post = (changes: object) => operator.post(`${API}/game-servers`, { ...body, ...changes });
  const pointers = (reply: Awaited<ReturnType<typeof post>>) =>
    (assertRefused(reply, 422, 'invalid_request')['errors'] as { pointer: string }[]).map(
      ({ pointer }) => pointer,
    );
  assert.deepEqual(pointers(await post({ name: 'two\nlines' })), ['/name']);
  assert.deepEqual(pointers(await post({ egg: 'two\nlines' })), ['/egg']);
  const nul = { ...document, startup: 'a\u0000b' };
  assert.deepEqual(pointers(await post({ egg_document: nul })), ['/egg_document/startup']);
  assert.deepEqual(pointers(await operator.post(`${API}/game-servers`, { ...SERVER })), ['/egg']);
  dataOf(await post({}));
});

test('an egg says on which nodes it runs, and what to do on the others, in commands of this installation', async (t) => {
  const { operator, db } = await start(t);
  const minecraft = async () => {
    const eggs = dataOf<Egg[]>(await operator.get(`${API}/eggs`));
    const of = (name: string) => eggs.find((egg) => egg.name === `eggs/${name}.json`)?.hosts[0];
    assert.partialDeepStrictEqual(of('hearth'), { node: 'big', ok: true });
    return of('flying-squid');
  };
  await report(db, { ...READY, docker: { version: null, lack: 'absent' } });
  const absent = await minecraft();
  assert.equal(absent?.ok, false);
  assert.match(absent?.commands.join('\n') ?? '', /apt-get install -y docker.io/);
  await report(db, READY);
  assert.partialDeepStrictEqual(await minecraft(), {
    ok: false,
    image: 'flying-squid',
    commands: ['./portcullis images flying-squid'],
  });
  const placed = { ...SERVER, egg: 'eggs/flying-squid.json' };
  const refused = assertRefused(
    await operator.post(`${API}/game-servers`, placed),
    422,
    'no_capacity',
  );
  assert.match(String(refused['detail']), /big cannot build: Its image .* not made yet/);
  await report(db, { ...READY, images: [{ ...IMAGE, state: 'ready' }] });
  assert.partialDeepStrictEqual(await minecraft(), { ok: true, reason: null, commands: [] });
  dataOf(await operator.post(`${API}/game-servers`, placed));
});

test('an image is made on its node by the operator alone, and its progress is listed', async (t) => {
  const environment = await start(t);
  const { operator, db, nodes } = environment;
  const node = await new TestNode(nodes, 'maker', await addNode(db, 'maker')).join();
  node.host = READY;
  await node.beat();
  const path = `${API}/nodes/maker/images/flying-squid`;
  const images = () => operator.get(`${API}/images`);
  assert.deepEqual(dataOf(await images()), [{ node: 'maker', ...IMAGE }]);
  dataOf(await operator.post(path, undefined));
  assert.deepEqual(node.images, ['flying-squid']);
  node.host = {
    ...READY,
    images: [{ ...IMAGE, state: 'building', step: 'Packing it', percent: 75 }],
  };
  await node.beat();
  assert.partialDeepStrictEqual(dataOf(await images()), [{ step: 'Packing it', percent: 75 }]);
  assertRefused(
    await operator.post(path.replace('flying-squid', 'own'), undefined),
    404,
    'not_found',
  );
  assertRefused(await operator.post(path.replace('maker', 'none'), undefined), 404, 'not_found');
  const tenant = await environment.client();
  assert.ok([401, 403, 404].includes((await tenant.post(path, undefined)).status));
  const reader = await environment.client({ organisationId: null, abilities: ['operator.read'] });
  assertRefused(await reader.post(path, undefined), 403, 'ability_missing');
  assert.deepEqual(node.images, ['flying-squid']);
});

test('an own egg is read from its text, JSON or YAML, with variables and the document to send', async (t) => {
  const { operator, db } = await start(t);
  await report(db, READY);
  const text = readFileSync(join(EGGS, 'teeworlds.json'), 'utf8');
  const read = dataOf<{ egg: Egg; document: object }>(
    await operator.post(`${API}/eggs/read`, { text }),
  );
  assert.equal(read.egg.title, 'Teeworlds');
  assert.ok(read.egg.variables.some(({ env }) => env === 'SERVER_NAME'));
  assert.deepEqual(read.document, JSON.parse(text));
  const yaml = `meta: { version: PLCN_v1 }\nname: Yaml\ndocker_images: { a: "alpine" }\nstartup: ./run\nconfig: { files: "{}", startup: "{}", stop: stop }\nscripts: {}\nvariables: []\n`;
  const own = dataOf<{ egg: Egg; document: object }>(
    await operator.post(`${API}/eggs/read`, { text: yaml }),
  );
  assert.equal(own.egg.hosts[0]?.ok, true);
  const body = { ...SERVER, node: 'big', egg_document: own.document };
  const server = dataOf<{ uuid: string; egg: string }>(
    await operator.post(`${API}/game-servers`, body),
  );
  assert.equal(server?.egg, 'Yaml');
  const stored = dataOf<{ egg: Egg }>(
    await operator.get(`${API}/game-servers/${server?.uuid}/egg`),
  );
  assert.equal(stored.egg.title, 'Yaml');
  for (const wrong of [{}, { text, url: 'https://eggs.example.net/x' }, { text: 'root:x:0:0' }])
    assertRefused(await operator.post(`${API}/eggs/read`, wrong), 422, 'invalid_request');
  for (const url of ['http://127.0.0.1:1/e', 'http://169.254.169.254/', 'file:///etc/passwd'])
    assertRefused(await operator.post(`${API}/eggs/read`, { url }), 422, 'invalid_request');
});

test('an egg of a URL is bounded in size and time, and no redirect leads to where a URL may not', async (t) => {
  const big = 'x'.repeat(64 * 1024);
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    if (path === '/egg') response.end('an egg');
    else if (path === '/big') response.end(big);
    else if (path === '/there') response.writeHead(302, { location: '/egg' }).end();
    else if (path === '/loop') response.writeHead(302, { location: '/loop' }).end();
    else if (path === '/inside')
      response.writeHead(302, { location: `http://127.0.0.2:${portOf(server)}/egg` }).end();
    else if (path !== '/hang') response.writeHead(404).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const network = parseCidr('127.0.0.1/32');
  assert.ok(network.ok);
  const fetched = (path: string, timeoutMs = 5_000) =>
    fetchPublicText(`http://127.0.0.1:${portOf(server)}${path}`, {
      networks: [network.value],
      maxBytes: 1_024,
      timeoutMs,
    });
  assert.deepEqual(await fetched('/egg'), { ok: true, value: 'an egg' });
  assert.deepEqual(await fetched('/there'), { ok: true, value: 'an egg' });
  for (const [path, why] of [
    ['/big', /larger than/],
    ['/loop', /redirected more than/],
    ['/inside', /only public addresses/],
    ['/none', /HTTP 404/],
  ] as const) {
    const refused = await fetched(path);
    assert.match(refused.ok ? '' : refused.reason, why, path);
  }
  const hung = await fetched('/hang', 300);
  assert.match(hung.ok ? '' : hung.reason, /No answer/);
});

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}
