import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { OPERATOR_PREFIX as API } from '@portcullis/contract/operator-endpoints.ts';
import { sql } from 'kysely';
import { assertRefused, dataOf } from '../../testing/client.ts';
import { startEnvironment } from '../../testing/fixture.ts';

const LIBRARY = `${API}/library`;

function paper(changes: object = {}) {
  return {
    meta: { version: 'PTDL_v2' },
    name: 'Paper',
    description: 'Minecraft',
    docker_images: { 'Java 21': 'ghcr.io/yolks:java_21', 'Java 17': 'ghcr.io/yolks:java_17' },
    startup: 'java -jar server.jar',
    config: { startup: '{"done": "Done"}', stop: 'stop', files: '{}' },
    scripts: {
      installation: { script: 'echo one\necho two', container: 'alpine', entrypoint: 'ash' },
    },
    variables: [
      { name: 'Players', env_variable: 'PLAYERS', default_value: '20', rules: 'required|integer' },
    ],
    ...changes,
  };
}

async function start(t: TestContext) {
  const environment = await startEnvironment(t);
  const operator = await environment.client({
    organisationId: null,
    abilities: ['operator.read', 'operator.manage'],
  });
  const offer = { addresses: ['198.51.100.10'], ports: '30000-30010' };
  dataOf(await operator.put(`${API}/nodes/big`, offer));
  return { ...environment, operator };
}

interface Change {
  readonly fields: readonly {
    readonly field: string;
    readonly before: string | null;
    readonly after: string | null;
  }[];
  readonly servers: readonly { readonly name: string; readonly current: boolean }[];
}

test('an egg keeps the order of its images, which decides the first one', async (t) => {
  const { operator } = await start(t);
  dataOf(await operator.put(`${LIBRARY}/paper`, { document: paper() }));
  const eggs = dataOf<{ name: string; images: string[]; shipped: boolean }[]>(
    await operator.get(`${API}/eggs`),
  );
  const found = eggs.find(({ name }) => name === 'paper');
  assert.deepEqual(found?.images, ['Java 21', 'Java 17']);
  assert.equal(found.shipped, false);
  assert.ok(eggs.some(({ shipped }) => shipped));
  const { document } = dataOf<{ document: object }>(await operator.get(`${LIBRARY}/paper`));
  assert.equal(JSON.stringify(document), JSON.stringify(paper()));
});

test('a newer egg is compared before it is taken, and servers keep theirs until they are given it', async (t) => {
  const { operator } = await start(t);
  dataOf(await operator.put(`${LIBRARY}/paper`, { document: paper() }));
  const body = {
    organisation: 'acme',
    service: 501,
    name: 'Survival',
    egg: 'paper',
    node: 'big',
    limits: { memory: 64, cpu: 10, disk: 64 },
    allocations: [{ ip: '198.51.100.10', port: 30_000 }],
  };
  const server = dataOf<{ uuid: string; egg_digest: string }>(
    await operator.post(`${API}/game-servers`, body),
  );
  const newer = paper({
    startup: 'java -Xmx1G -jar server.jar',
    scripts: {
      installation: { script: 'echo one\necho three', container: 'alpine', entrypoint: 'ash' },
    },
    variables: [],
  });
  const text = JSON.stringify(newer);
  const { change } = dataOf<{ change: Change }>(
    await operator.post(`${API}/eggs/read`, { text, name: 'paper' }),
  );
  assert.deepEqual(
    change.fields.map(({ field, before, after }) => [field, before?.split('\n').at(-1), after]),
    [
      ['startup', 'java -jar server.jar', 'java -Xmx1G -jar server.jar'],
      ['install.script', 'echo two', 'echo one\necho three'],
      ['variables.PLAYERS', change.fields[2]?.before?.split('\n').at(-1), null],
    ],
  );
  assert.deepEqual(
    change.servers.map(({ name, current }) => [name, current]),
    [['Survival', false]],
  );
  dataOf(await operator.put(`${LIBRARY}/paper`, { document: newer }));
  const path = `${API}/game-servers/${server.uuid}`;
  const kept = dataOf<{ egg_digest: string }>(await operator.get(path));
  assert.equal(kept.egg_digest, server.egg_digest);
  dataOf(await operator.send('PATCH', path, { json: { name: 'Other name' } }));
  assert.equal(
    dataOf<{ egg_digest: string }>(await operator.get(path)).egg_digest,
    kept.egg_digest,
  );
  dataOf(await operator.send('PATCH', path, { json: { egg_digest: null } }));
  assert.notEqual(
    dataOf<{ egg_digest: string }>(await operator.get(path)).egg_digest,
    kept.egg_digest,
  );
  const again = dataOf<{ change: Change }>(
    await operator.post(`${API}/eggs/read`, { text, name: 'paper' }),
  );
  assert.deepEqual([again.change.fields, again.change.servers[0]?.current], [[], true]);
});

test('what is no egg is refused, and a name that is taken when it must be new', async (t) => {
  const { operator, db } = await start(t);
  const path = `${LIBRARY}/paper`;
  for (const document of [{}, { meta: { version: 'PTDL_v9' } }, paper({ docker_images: {} })]) {
    const refused = assertRefused(await operator.put(path, { document }), 422, 'invalid_request');
    const [error] = refused['errors'] as { pointer: string }[];
    assert.equal(error?.pointer, '/document');
  }
  dataOf(await operator.put(path, { document: paper() }));
  const twice = await operator.put(path, { document: paper() }, { 'if-none-match': '*' });
  assertRefused(twice, 412, 'precondition_failed');
  dataOf(await operator.send('DELETE', path));
  const { rows } = await sql`select from library_eggs`.execute(db);
  assert.equal(rows.length, 0);
});

test('an icon that is no image, or runs anything, is not shown', async (t) => {
  const { operator } = await start(t);
  for (const icon of [
    'https://eggs.example.net/icon.png',
    'data:text/html;base64,PHNjcmlwdD4=',
    'javascript:alert(1)',
    `data:image/png;base64,${'A'.repeat(200_000)}`,
    'data:image/png;base64,AA" onload="alert(1)',
  ]) {
    dataOf(await operator.put(`${LIBRARY}/paper`, { document: paper({ icon }) }));
    const eggs = dataOf<{ name: string; icon: string | null }[]>(await operator.get(`${API}/eggs`));
    assert.equal(eggs.find(({ name }) => name === 'paper')?.icon, null, icon.slice(0, 60));
  }
});
