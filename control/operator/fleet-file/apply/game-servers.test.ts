import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { sql } from 'kysely';
import type { Db } from '../../../db/database.ts';
import { testDatabase } from '../../../db/testing.ts';
import { applyFleet, FleetRefused, planFleet } from './apply.ts';
import { loadPolicies } from '../../../fleet/policies/policies.ts';
import type { FoundEgg } from '../../../game-servers/index.ts';
import { renderPlan } from '../plan/plan.ts';
import { readFleetFile } from '../read/read.ts';
import { applyText, mistakesOf, mustParse, parseText, TEST_ACTOR, TEST_EGG } from '../testing.ts';

const UUID = '6f1c2f1e-6b3a-4b0e-9a55-0a4f4f8f3c11';

interface Wanted {
  readonly server?: string;
  readonly nodes?: string;
  readonly service?: string;
  readonly keys?: string;
}
function fleet({
  server,
  nodes = '[{ name: n1 }, { name: n2 }]',
  service,
  keys,
}: Wanted = {}): string {
  return `organisations:
  acme:
    name: Acme
    services:
      - { id: 501, name: s, addresses: [{ ip: 198.51.100.10 }, { ip: 198.51.100.11 }]${service ?? ''} }
    keys: ${keys ?? '[]'}
  hive: { name: Hive, services: [{ id: 601, name: s }] }
nodes: ${nodes}
game_servers: [${server ?? ''}]
`;
}
function server(fields: Readonly<Record<string, string>> = {}): string {
  const all = {
    uuid: UUID,
    organisation: 'acme',
    service: '501',
    name: 'Survival',
    node: 'n1',
    egg: 'test.json',
    limits: '{ memory: 1024, cpu: 100, disk: 2048 }',
    allocation: '{ ip: 198.51.100.10, port: 25565 }',
    ...fields,
  };
  return `{ ${Object.entries(all)
    .map(([name, value]) => `${name}: ${value}`)
    .join(', ')} }`;
}
const mistakes = (text: string): string[] => mistakesOf(parseText(text));

async function rowsOf(db: Db) {
  const { rows } = await sql<Record<string, unknown>>`
    select uuid, name, port, build_epoch as epoch, build_state as state, (select name from nodes where id = node_id) as node
      from game_servers order by uuid`.execute(db);
  return rows;
}

async function builtBy(db: Db): Promise<void> {
  await sql`update game_servers set build_state = 'built', identifier = 'x'`.execute(db);
}

test('fills in defaults of optional fields', () => {
  const [parsed] = mustParse(fleet({ server: server({ uuid: UUID.toUpperCase() }) })).objects
    .server;
  assert.ok(parsed);
  assert.equal(parsed.at.line, 9);
  const { allocation: _, ...rest } = parsed.object as { readonly allocation?: object };
  assert.deepEqual(rest, {
    uuid: UUID,
    organisation: 'acme',
    service: 501,
    name: 'Survival',
    node: 'n1',
    egg: 'test.json',
    egg_digest: TEST_EGG.digest,
    image: null,
    variables: {},
    docker_image: null,
    startup: null,
    limits: {
      memory: 1024,
      cpu: 100,
      disk: 2048,
      swap: 0,
      io: 500,
      cores: null,
      oom: true,
      entries: 0,
      ports: 0,
    },
    mounts: [],
    allocations: [
      { ip: '198.51.100.10', port: 25_565, protocols: null, variable: null, name: null },
    ],
    open_while_running: false,
    suspended: false,
    start_with_host: 'as_before',
    stop_seconds: null,
    crashes: { restart: true, within_seconds: 60, tries: 1 },
  });
});

test('passes variables to the game unchanged', () => {
  const text = fleet({ server: server({ variables: '{ SLOTS: 16, PASSWORD: true }' }) });
  assert.deepEqual(mustParse(text).objects.server[0]?.object.variables, {
    SLOTS: '16',
    PASSWORD: 'true',
  });
});

test('reports each mistake in a server at its position', () => {
  const wrong: readonly (readonly [string, RegExp])[] = [
    [server({ uuid: 'abc' }), /no uuid/],
    [server({ node: 'n9' }), /no node n9/],
    [server({ organisation: 'nobody' }), /no organisation nobody/],
    [server({ service: '601' }), /acme has no service 601/],
    [server({ allocation: '{ ip: here, port: 1 }' }), /"here" is no address/],
    [server({ allocation: '{ ip: 192.0.2.1, port: 0 }' }), /at least 1/],
    [server({ allocation: '{ ip: 192.0.2.1, port: 65536 }' }), /at most 65535/],
    [server({ limits: '{ memory: -1, cpu: 1, disk: 1 }' }), /at least 0/],
    [server({ limits: '{ memory: 1, cpu: 1 }' }), /"disk" is missing/],
    [server({ image: 'third' }), /no such image; there are first, second/],
    [server({ variables: '{ SLOTS: 65 }' }), /SLOTS/],
    [server({ variables: '{ SLOTS: many }' }), /SLOTS/],
    [server({ variables: '{ STARTUP: sh }' }), /set for every server/],
    [server({ variables: '{ COLOUR: red }' }), /no variable COLOUR/],
    [server({ variables: '{ "A B": x }' }), /A B/],
    [server({ variables: '{ PASSWORD: "a\\nb" }' }), /control character/],
    [server({ variables: '{ PASSWORD: [1] }' }), /PASSWORD/],
    [server({ crashes: '{ within_seconds: 86401 }' }), /at most 86400/],
    [server({ colour: 'red' }), /no field "colour"/],
    [
      `${server()}, ${server({ allocation: '{ ip: 192.0.2.1, port: 1 }' })}`,
      /The server .* is here twice/,
    ],
    [
      `${server()}, ${server({ uuid: UUID.replace('6f', '7f') })}`,
      /The allocation 198.51.100.10 port 25565 is here twice/,
    ],
  ];
  for (const [one, message] of wrong) {
    const found = mistakes(fleet({ server: one }));
    assert.ok(found.length > 0, one);
    for (const mistake of found) assert.match(mistake, message, one);
    assert.match(found[0] ?? '', /^9:\d+ /);
  }
});

test('looks for an egg next to the file, then among the shipped ones, and reports its mistakes', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'portcullis-fleet-'));
  t.after(() => rm(folder, { recursive: true }));
  const write = (name: string, text: string) => writeFile(join(folder, name), text);
  const egg = (name: string) =>
    JSON.stringify({
      meta: { version: 'PTDL_v2' },
      name,
      docker_images: { a: 'a:1' },
      startup: 'run',
      config: { files: '{}', startup: '{}', logs: '{}', stop: '^C' },
      scripts: {},
      variables: [],
    });
  await write('own.json', egg('own'));
  await write('both.json', egg('beside'));
  await write('shipped-both.json', egg('shipped'));
  await write('bad.json', '{ "meta": 7 }');
  await write('binary.json', 'x');
  await writeFile(join(folder, 'binary.json'), Buffer.from([0xff, 0xfe, 0x00]));
  const shipped = (name: string): string | null =>
    name.startsWith('only') || name === 'both.json' ? join(folder, 'shipped-both.json') : null;
  const read = async (name: string) => {
    await write('fleet.yaml', fleet({ server: server({ egg: name }) }));
    return readFleetFile(
      join(folder, 'fleet.yaml'),
      {},
      {
        eggs: { shipped, names: () => [], compile: null },
      },
    );
  };
  for (const [name, wanted] of [
    ['own.json', 'own'],
    ['both.json', 'beside'],
    ['only-shipped.json', 'shipped'],
    [join(folder, 'own.json'), 'own'],
  ] as const) {
    const result = await read(name);
    assert.ok(result.ok, mistakesOf(result).join());
    assert.equal(result.value.eggs[0]?.found.egg.name, wanted);
  }
  for (const [name, message] of [
    ['none.json', /no egg none.json: not beside this file, and none of that name is shipped/],
    ['bad.json', /This is no egg: .*meta\.version/],
    ['binary.json', /not text in UTF-8/],
    ['/dev/zero', /larger than 4 MiB/],
    ['.', /cannot be read \(EISDIR\)/],
  ] as const) {
    const result = await read(name);
    assert.match(mistakesOf(result).join('\n'), message, name);
    assert.match(mistakesOf(result)[0] ?? '', /^9:\d+ /);
  }
});

test('golden: servers are created, changed and deleted', async (t) => {
  const { db } = await testDatabase(t);
  const plans: string[] = [];
  const plan = async (text: string): Promise<void> => {
    plans.push(renderPlan(await planFleet(db, mustParse(text))));
  };
  const first = fleet({
    server: server(),
    keys: `[{ name: k, abilities: [game-servers.read], servers: [${UUID}, ${UUID.replace('6f', '7f')}] }]`,
  });
  await plan(first);
  await applyText(db, first);
  await plan(first);
  await builtBy(db);
  const changed = { name: 'Creative', limits: '{ memory: 2048, cpu: 100, disk: 2048 }' };
  const variables = '{ PASSWORD: hunter2 }';
  await plan(fleet({ server: server({ ...changed, variables, suspended: 'true' }) }));
  await plan(fleet({ server: server({ node: 'n2' }) }));
  await plan(fleet({ server: server({ organisation: 'hive', service: '601' }) }));
  await plan(fleet());
  await plan('');
  const golden = new URL('../plan/golden/servers.txt', import.meta.url);
  assert.equal(plans.join('--\n'), await readFile(golden, 'utf8'));
  assert.ok(!plans.join().includes('hunter2'));
});

test('a second apply changes nothing and takes no generation', async (t) => {
  const { db } = await testDatabase(t);
  const text = fleet({ server: server({ variables: '{ SLOTS: 16 }' }) });
  const applied = await applyText(db, text);
  assert.deepEqual(applied.nodes, ['n1', 'n2']);
  const again = await applyText(db, text);
  assert.deepEqual(again.changes, []);
  assert.equal(again.generation, null);
});

test('needs --force for a change that separates a server from its files', async (t) => {
  const { db } = await testDatabase(t);
  const text = fleet({ server: server() });
  await applyText(db, text);
  await applyText(db, fleet({ server: server({ node: 'n2' }) }));
  assert.deepEqual(await rowsOf(db), [
    { uuid: UUID, name: 'Survival', port: 25_565, epoch: 2, state: 'waiting', node: 'n2' },
  ]);
  await builtBy(db);
  for (const dangerous of [text, fleet()]) {
    await assert.rejects(applyText(db, dangerous, false), FleetRefused);
    assert.equal((await rowsOf(db))[0]?.['state'], 'built');
  }
  await applyText(db, text, true);
  assert.deepEqual(await rowsOf(db), [
    { uuid: UUID, name: 'Survival', port: 25_565, epoch: 3, state: 'waiting', node: 'n1' },
  ]);
  await builtBy(db);
  await applyText(db, fleet(), true);
  assert.deepEqual(await rowsOf(db), []);
  const eggs = async () => (await sql`select from eggs`.execute(db)).rows.length;
  assert.equal(await eggs(), 1, 'the egg of a server that can be restored is gone');
  await sql`delete from deleted_servers`.execute(db);
  await applyText(db, text, true);
  await sql`update game_servers set build_state = 'waiting', identifier = null`.execute(db);
  await applyText(db, fleet(), true);
  assert.equal(await eggs(), 0, 'an egg that nobody names is kept');
});

test('a change in place neither builds again nor resets the build state', async (t) => {
  const { db } = await testDatabase(t);
  await applyText(db, fleet({ server: server() }));
  await builtBy(db);
  await applyText(db, fleet({ server: server({ name: 'Creative', suspended: 'true' }) }));
  const [row] = await rowsOf(db);
  assert.deepEqual([row?.['name'], row?.['epoch'], row?.['state']], ['Creative', 1, 'built']);
});

test('exchanges the allocations of two servers in one apply', async (t) => {
  const { db } = await testDatabase(t);
  const other = UUID.replace('6f', '7f');
  const two = (a: number, b: number): string =>
    fleet({
      server: [
        server({ allocation: `{ ip: 198.51.100.10, port: ${a} }` }),
        server({ uuid: other, allocation: `{ ip: 198.51.100.10, port: ${b} }` }),
      ].join(', '),
    });
  await applyText(db, two(1, 2));
  await applyText(db, two(2, 1));
  assert.deepEqual(
    (await rowsOf(db)).map(({ port }) => port),
    [2, 1],
  );
});

test('neither takes over nor changes servers of the portal', async (t) => {
  const { db } = await testDatabase(t);
  await applyText(db, fleet({ server: server() }));
  await sql`update game_servers set owner = 'portal'`.execute(db);
  const refused = async (text: string): Promise<string> => {
    const { mistakes: found } = await planFleet(db, mustParse(text));
    return found.map(({ message }) => message).join('\n');
  };
  assert.match(await refused(fleet({ server: server() })), /was made by hand/);
  const taken = server({ uuid: UUID.replace('6f', '7f') });
  assert.match(
    await refused(fleet({ server: taken })),
    /198.51.100.10 port 25565 is that of Survival/,
  );
  assert.match(
    await refused(fleet({ nodes: '[]' })),
    /The node n1 is not in the file, but has 1 server/,
  );
  assert.match(await refused('organisations: { hive: { name: Hive } }'), /acme.* 1 server/);
  assert.equal(await refused(fleet()), '');
});

/** The ports of filters that the service of the address manages, in its accepted policy. */
async function managedPorts(t: TestContext, text: string): Promise<Record<string, number[]>> {
  const { db } = await testDatabase(t);
  await applyText(db, text);
  return managedNow(db);
}
async function managedNow(db: Db): Promise<Record<string, number[]>> {
  const { policies } = await db.transaction().execute((tx) => loadPolicies(tx, 'all'));
  return Object.fromEntries(
    policies.map(({ target, filters }) => [
      target,
      [...new Set(filters.filter(({ managed }) => managed).map(({ port }) => port))],
    ]),
  );
}

test('applies managed filters to the ports of game servers', async (t) => {
  const at = (ip: string, port: number) => server({ allocation: `{ ip: ${ip}, port: ${port} }` });
  await t.test('on the address of the allocation', async (inner) => {
    assert.deepEqual(await managedPorts(inner, fleet({ server: at('198.51.100.11', 1234) })), {
      '198.51.100.11': [1234],
    });
  });
  await t.test(
    'on every address of the service if the server is behind another address',
    async (inner) => {
      assert.deepEqual(await managedPorts(inner, fleet({ server: at('10.0.0.5', 1234) })), {
        '198.51.100.10': [1234],
        '198.51.100.11': [1234],
      });
    },
  );
  await t.test('nowhere if only the host itself reaches it', async (inner) => {
    assert.deepEqual(await managedPorts(inner, fleet({ server: at('127.0.0.1', 1234) })), {});
  });
  await t.test('not if the service lists ports or manages no filters', async (inner) => {
    const service = ', managed_filters: [{ type: udp-stateful, ports: "9" }]';
    const own = await managedPorts(inner, fleet({ service, server: at('198.51.100.11', 1234) }));
    assert.deepEqual(own, { '198.51.100.10': [9], '198.51.100.11': [9] });
  });
});

test('takes a generation for a change of allocation, and none for a change of name', async (t) => {
  const { db } = await testDatabase(t);
  await applyText(db, fleet({ server: server() }));
  const renamed = await applyText(db, fleet({ server: server({ name: 'Other' }) }));
  const moved = await applyText(
    db,
    fleet({ server: server({ name: 'Other', allocation: '{ ip: 198.51.100.11, port: 7 }' }) }),
  );
  assert.equal(renamed.generation, null);
  assert.ok(moved.generation !== null);
  const { rows } = await sql<{ target: string }>`
    select target from changes where generation = ${moved.generation} order by 1`.execute(db);
  assert.deepEqual(
    rows.map(({ target }) => target),
    ['198.51.100.10/32', '198.51.100.11/32'],
  );
  assert.deepEqual(await managedNow(db), { '198.51.100.11': [7] });
});

test('sends a changed egg to the node, and stores it once for all servers', async (t) => {
  const { db } = await testDatabase(t);
  const text = fleet({
    server: `${server()}, ${server({ uuid: UUID.replace('6f', '7f'), egg: 'same.json', allocation: '{ ip: 192.0.2.1, port: 1 }' })}`,
  });
  await applyText(db, text);
  const digests = async () =>
    (await sql<{ digest: string }>`select digest from eggs`.execute(db)).rows;
  assert.deepEqual(await digests(), [{ digest: TEST_EGG.digest }]);
  const edited: FoundEgg = {
    ...TEST_EGG,
    egg: { ...TEST_EGG.egg, startup: 'run --fast' },
    digest: 'b'.repeat(64),
  };
  const parsed = parseText(text, {}, edited);
  assert.ok(parsed.ok);
  const applied = await applyFleet(db, parsed.value, { allowLosses: false, actor: TEST_ACTOR });
  assert.deepEqual(
    applied.changes.map(({ words }) => words),
    ['the egg changed', 'the egg changed'],
  );
  assert.deepEqual(await digests(), [{ digest: edited.digest }]);
});

test('keeps what the people of a server set, where the file leaves it open, and shows what it replaces', async (t) => {
  const { db } = await testDatabase(t);
  const plain = fleet({ server: server({ variables: '{ PASSWORD: x }' }) });
  await applyText(db, plain);
  await sql`
    update game_servers
       set variables = variables || '{"MOTD": "theirs", "SLOTS": "9"}', image = 'second', crash_tries = 5,
           set_by_people = '{/crashes/tries,/image,/variables/MOTD,/variables/SLOTS}'`.execute(db);
  const again = await applyText(db, plain);
  assert.deepEqual(again.changes, []);
  const stated = await applyText(
    db,
    fleet({
      server: server({ variables: '{ PASSWORD: x, MOTD: ours }', crashes: '{ tries: 2 }' }),
    }),
  );
  assert.deepEqual(
    stated.changes.map(({ words }) => words),
    ['tries 5 -> 2, variables MOTD'],
  );
  const { rows } = await sql`
    select variables, image, crash_tries as tries, set_by_people as own from game_servers`.execute(
    db,
  );
  assert.deepEqual(rows, [
    {
      variables: { PASSWORD: 'x', SLOTS: '9', MOTD: 'ours' },
      image: 'second',
      tries: 2,
      own: ['/image', '/variables/SLOTS'],
    },
  ]);
  // What the file states no longer is not theirs: it has its default again.
  const left = await applyText(db, plain);
  assert.deepEqual(
    left.changes.map(({ words }) => words),
    ['tries 2 -> 1, variables MOTD'],
  );
});

test('a server that the file names no more is removed, however many there are', async (t) => {
  const { db } = await testDatabase(t);
  const [first, second, third] = ['1', '2', '3'].map((digit) =>
    server({
      uuid: UUID.replace(/1$/, digit),
      name: `s${digit}`,
      allocation: `{ ip: 198.51.100.10, port: ${25560 + Number(digit)} }`,
    }),
  );
  await applyText(db, fleet({ server: `${first}, ${second}, ${third}` }));
  const one = await applyText(db, fleet({ server: second as string }));
  assert.deepEqual(
    one.changes.map(({ sign, subject }) => `${sign} ${subject}`),
    ['- server s1 (acme)', '- server s3 (acme)'],
  );
  await applyText(db, fleet({ server: `${first}, ${second}, ${third}` }));
  assert.equal((await applyText(db, fleet())).changes.length, 3);
  assert.equal((await applyText(db, fleet())).changes.length, 0);
});

test('a port of a server that was made by hand is refused, also beside others of the file', async (t) => {
  const { db } = await testDatabase(t);
  const [first, second, third] = [25_565, 25_999, 25_999].map((port, index) =>
    server({
      uuid: UUID.replace(/1$/, String(index)),
      allocation: `{ ip: 198.51.100.10, port: ${port} }`,
    }),
  );
  await applyText(db, fleet({ server: `${first}, ${second}` }));
  await sql`update game_servers set owner = 'portal' where port = 25999`.execute(db);
  const plan = await planFleet(db, mustParse(fleet({ server: `${first}, ${third}` })));
  assert.match(renderPlan(plan), /port 25999 is that of Survival, which was made by hand/);
});

test('a mount of a server that was made by hand is not taken from its node', async (t) => {
  const { db } = await testDatabase(t);
  const mounted = '[{ name: n1, mounts: [{ name: maps, source: /a, target: /b }] }]';
  await applyText(db, fleet({ nodes: mounted, server: server({ mounts: '[maps]' }) }));
  await sql`update game_servers set owner = 'portal'`.execute(db);
  const plan = await planFleet(db, mustParse(fleet({ nodes: '[{ name: n1 }]' })));
  assert.match(renderPlan(plan), /Survival has the mount maps: take it from there first/);
  // An older version took it.
  await sql`update nodes set mounts = '[]'`.execute(db);
  const later = await planFleet(db, mustParse(fleet({ nodes: '[{ name: n1 }]' })));
  assert.doesNotMatch(renderPlan(later), /take it from there/);
});
