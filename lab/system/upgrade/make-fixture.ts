import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { netflowV5 } from '@portcullis/collector/testing/datagrams.ts';
import { generateSecret } from '@portcullis/control/access/index.ts';
import { findAccount } from '@portcullis/control/db/embedded/account.ts';
import { startTestCluster } from '@portcullis/control/db/testing.ts';
import { type Answer, Installation, PORTS } from './installation.ts';

/**
 * `make-fixture.ts CHECKOUT`: makes COMMIT.tar.gz here of a small installation of that checkout, as it is when its host
 * loses power: a dump of the database, the folders of agents, and what people know (`Known`). As root, with the checkout's
 * dependencies installed, Debian's postgresql-15 (its dump is read by 15 and newer) and nats-server:
 *
 *     git worktree add /tmp/portcullis-f433ab77 f433ab77 && (cd /tmp/portcullis-f433ab77 && npm ci)
 *     PORTCULLIS_TEST_POSTGRES=/usr/lib/postgresql/15 node lab/system/upgrade/make-fixture.ts /tmp/portcullis-f433ab77
 */
const [, , checkout = ''] = process.argv;
const BIN = join(process.env['PORTCULLIS_TEST_POSTGRES'] ?? '/usr/lib/postgresql/15', 'bin');
const IP = '203.0.113.10';
/** The time by which every attack that is mitigated is so. */
const MITIGATION_MS = 20_000;
const SERVER = '6f1c2f1e-6b3a-4b0e-9a55-0a4f4f8f3c11';

/** Secrets that the people of the installation know: passwords, keys, links, tokens and ids. */
export interface Known {
  readonly commit: string;
  readonly madeAt: string;
  readonly keys: { readonly acme: string; readonly operator: string };
  readonly operator: Person;
  readonly owner: Person;
  readonly links: { readonly invitation: string; readonly reset: string };
  readonly joinToken: string;
  readonly rules: { readonly kept: readonly number[]; readonly deleted: number };
  readonly generation: number;
  /** `isMitigated` is absent, and true, in that of f433ab77: later versions only observe what exporters alone claim. */
  readonly attack: { readonly id: number; readonly type: string; readonly isMitigated?: boolean };
  readonly server: string;
  readonly ip: string;
}

interface Person {
  readonly email: string;
  readonly password: string;
  /** The cookie of a session. */
  readonly cookie: string;
}

const FLEET = `organisations:
  acme:
    name: Acme Hosting
    flags: [firewall_api, attack_history_api]
    asns: [64500]
    prefixes:
      - { cidr: 203.0.113.0/24, asn: 64500, since: "2026-01-01T00:00:00+00:00" }
      - { cidr: "2001:db8:5::/48", asn: 64500, since: "2026-01-01T00:00:00+00:00" }
    services:
      - { id: 501, name: survival-1, addresses: [{ ip: 198.51.100.10, since: "2026-01-01T00:00:00+00:00" }] }
    thresholds: { pps: 500, mbps: 10, hold_seconds: 60 }
    keys:
      - { name: ci, abilities: [firewall.read, firewall.manage, attacks.read, game-servers.read, game-servers.manage], secret: "\${ACME_KEY}" }
    groups:
      - { name: baseline, rules: [{ action: deny, protocol: udp, destination_port: "19" }], addresses: [${IP}] }
    geo_rules:
      - { action: deny, asns: [64496], addresses: [${IP}] }
  other:
    name: Other
    prefixes: [{ cidr: 192.0.2.0/24, since: "2026-01-01T00:00:00+00:00" }]
baseline:
  - { prefixes: [203.0.113.0/24], rules: [{ action: deny, protocol: udp, destination_port: "1900" }] }
edges: [{ name: edge-1, site: fra, devices: [ext0] }]
collectors:
  - { name: flows, listen: "127.0.0.1:${PORTS.flows}", exporters: [{ ip: 127.0.0.1, sampling_rate: 1, prefixes: [203.0.113.0/24] }] }
  - { name: far, listen: "127.0.0.1:${PORTS.farFlows}", exporters: [{ ip: 127.0.0.1, prefixes: [203.0.113.0/24] }] }
nodes: [{ name: node-1 }, { name: node-2 }]
game_servers:
  - uuid: ${SERVER}
    organisation: acme
    service: 501
    name: Survival
    node: node-1
    egg: ${join(checkout, 'eggs/hearth.json')}
    limits: { memory: 256, cpu: 100, disk: 512 }
    allocation: { ip: 127.0.0.1, port: ${PORTS.game} }
    open_while_running: true
`;

const home = mkdtempSync(join(tmpdir(), 'portcullis-then-'));
const keys = { acme: generateSecret(), operator: '' };
const cluster = await startTestCluster();
const then = new Installation({
  checkout,
  home,
  databaseUrl: cluster.url,
  env: { ACME_KEY: keys.acme },
});
try {
  const known = await live();
  await then.cutPower();
  await save(known);
} finally {
  await then.cutPower();
  await cluster.stop();
  rmSync(home, { recursive: true, force: true });
}

/** Lets people and agents do what they do. */
async function live(): Promise<Known> {
  await onDatabase(async (client) => {
    // PostgreSQL 15 does not have it, and that version calls it.
    await client.query(`
      create function pg_input_is_valid(value text, type text) returns boolean language plpgsql as $$
      begin perform value::inet; return true; exception when others then return false; end $$`);
  });
  await then.startControl();
  writeFileSync(join(home, 'fleet.yaml'), FLEET);
  await then.command('fleet', 'apply', join(home, 'fleet.yaml'), '--yes');
  const nats = ['--listen', `127.0.0.1:${PORTS.nats}`, '--out', join(home, 'nats')];
  await then.command('nats', 'config', ...nats);
  await then.startNats();
  await then.logged('control', 'serving agents over NATS');
  await startAgents();
  const abilities = ['--ability', 'operator.read', 'operator.manage'];
  const made = await then.command(
    'keys',
    'create',
    '--operator',
    '--name',
    'billing',
    ...abilities,
  );
  keys.operator = (/pcl_[0-9A-Za-z]+/.exec(made) ?? [''])[0];
  const people = await meetPeople();
  const rules = await protect();
  await runServer();
  const attack = await attacked();
  const forNode2 = ['node', '--name', 'node-2', '--url', 'https://portcullis.example'];
  const { token: joinToken } = await printed<{ token: string }>('tokens', 'create', ...forNode2);
  const { headers } = await then.call('GET', `/api/v1/firewall/ips/${IP}`, { key: keys.acme });
  return {
    commit: execFileSync('git', ['-C', checkout, 'rev-parse', 'HEAD'], { encoding: 'utf8' }).trim(),
    madeAt: new Date().toISOString(),
    keys,
    ...people,
    joinToken,
    rules,
    generation: Number(headers['portcullis-generation']),
    attack,
    server: SERVER,
    ip: IP,
  };
}

async function runServer(): Promise<void> {
  const path = `/api/v1/game-servers/${SERVER}`;
  const read = () => send<{ provisioned: boolean; state: string }>('GET', path);
  await then.until('the server is provisioned', async () => (await read()).provisioned);
  await send('POST', `${path}/power`, { signal: 'start' });
  await then.until('the server runs', async () => (await read()).state === 'running');
  writeFileSync(join(home, 'node/node/servers', SERVER, 'notes.txt'), 'of a player\n');
}

async function startAgents(): Promise<void> {
  const file = (name: string): string => join(home, `${name}.credential`);
  await then.command('edges', 'enrol', 'edge-1', '--save', file('edge'));
  await then.command('nodes', 'enrol', 'node-1', '--save', file('node'));
  await then.command('collectors', 'enrol', 'flows', '--save', file('flows'));
  await then.command('collectors', 'enrol', 'far', '--remote', '--save', file('far'));
  giveToAccount();
  then.startEdge();
  then.startNode();
  then.startCollector('flows');
  then.startCollector('far');
  for (const name of ['edge', 'node']) await then.logged(name, 'joined control');
  for (const name of ['flows', 'far']) await then.logged(name, 'detection settings received');
}

/** The node does not run as root. */
function giveToAccount(): void {
  const account = findAccount('portcullis');
  if (account === null) throw new Error('there is no account portcullis');
  for (const path of ['node', 'node.credential'])
    chownSync(join(home, path), account.uid, account.gid);
  chmodSync(home, 0o711);
}

async function meetPeople(): Promise<Pick<Known, 'operator' | 'owner' | 'links'>> {
  const first = await printed<{ url: string }>('portal', 'link');
  const operator = await accept(tokenIn(first.url), 'op@host.example');
  const invite = async (email: string, role: string): Promise<string> => {
    const body = { email, organisation: 'acme', role };
    const { cookie } = operator;
    const path = '/api/portal/operator/invitations';
    return tokenIn(
      (await ok(then.call<Data<{ url: string }>>('POST', path, { cookie, body }))).url,
    );
  };
  const owner = await accept(await invite('ada@acme.example', 'owner'), 'ada@acme.example');
  const invitation = await invite('bob@acme.example', 'member');
  const reset = await printed<{ url: string }>('portal', 'reset', owner.email);
  const { cookie } = owner;
  const body = { name: 'ops', url: 'https://hooks.example/portcullis', events: ['attack.opened'] };
  const webhooks = '/api/portal/organisations/acme/webhooks';
  await ok(then.call<Data<unknown>>('POST', webhooks, { cookie, body }));
  return { operator, owner, links: { invitation, reset: tokenIn(reset.url) } };
}

async function accept(token: string, email: string): Promise<Person> {
  const password = `a long passphrase of ${email}`;
  const body = { token, email, name: email, password };
  const accepted = await then.call('POST', '/api/portal/links/accept', { body });
  if (accepted.status !== 200)
    throw new Error(`the link was refused: ${JSON.stringify(accepted.body)}`);
  const signedIn = await then.call('POST', '/api/portal/sign-in', { body: { email, password } });
  const cookies = [signedIn.headers['set-cookie'] ?? []]
    .flat()
    .map((one) => one.split(';', 1)[0] ?? '');
  return { email, password, cookie: cookies.join('; ') };
}

/** Rules, filters and blocked sources of an address; one rule is deleted again. */
async function protect(): Promise<Known['rules']> {
  const rules = `/api/v1/firewall/ips/${IP}/rules`;
  const add = (rule: object) => send<{ ids: number[] }>('POST', rules, rule);
  const ports = '25565,25566';
  const kept = await add({ action: 'allow', protocol: 'tcp', destination_port: ports });
  const deleted = await add({ action: 'deny', protocol: 'any', source_ip: '198.51.100.66' });
  await send('DELETE', rules, { ids: deleted.ids });
  await send('POST', `/api/v1/firewall/ips/${IP}/filters`, { type: 'source', port: '27015' });
  const blocked = { target: IP, sources: ['198.51.100.0/28'], note: 'scanners' };
  await send('POST', '/api/x1/firewall/blocked', blocked);
  await send('PUT', '/api/x1/firewall/defaults', { target: '203.0.113.64/26', default: 'deny' });
  await then.until('an edge enforces it', async () => {
    const { headers } = await then.call('GET', `/api/v1/firewall/ips/${IP}`, { key: keys.acme });
    const { 'portcullis-generation': live, 'portcullis-accepted-generation': accepted } = headers;
    return headers['portcullis-enforcement'] === 'full' && live === accepted;
  });
  return { kept: kept.ids, deleted: deleted.ids[0] ?? 0 };
}

/** An attack that a collector reports, and that the edge mitigates if that is enough. */
async function attacked(): Promise<Known['attack']> {
  const flow = {
    source: '192.0.2.99',
    destination: IP,
    protocol: 17,
    sourcePort: 53,
    destinationPort: 4444,
    tcpFlags: 0,
    packets: 1_000,
    bytes: 500_000,
    firstMs: 0,
    lastMs: 0,
  };
  const stop = then.repeat(netflowV5([flow]), PORTS.flows);
  let found: { id: number; attack_type: string; mitigated_at: string | null } | undefined;
  const deadline = performance.now() + MITIGATION_MS;
  await then.until('the attack is known', async () => {
    [found] = await send<[typeof found]>('GET', '/api/v1/attacks');
    const isMitigated = typeof found?.mitigated_at === 'string';
    return isMitigated || (found !== undefined && performance.now() > deadline);
  });
  await stop();
  const isMitigated = typeof found?.mitigated_at === 'string';
  return { id: found?.id ?? 0, type: found?.attack_type ?? '', isMitigated };
}

interface Data<T> {
  readonly data: T;
}

/** `data` of the answer to the key of acme. */
function send<T>(method: string, path: string, body?: object): Promise<T> {
  return ok(
    then.call<Data<T>>(method, path, { key: keys.acme, ...(body !== undefined && { body }) }),
  );
}

async function ok<T>(answer: Promise<Answer<Data<T>>>): Promise<T> {
  const { status, body } = await answer;
  if (status >= 300) throw new Error(`${status}: ${JSON.stringify(body)}`);
  return body.data;
}

/** `data` of what a command prints. */
async function printed<T>(...args: readonly string[]): Promise<T> {
  return (JSON.parse(await then.command(...args, '--json')) as Data<T>).data;
}

function tokenIn(url: string): string {
  return url.split('#')[1] ?? '';
}

async function onDatabase(work: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client({ connectionString: cluster.url });
  await client.connect();
  await work(client);
  await client.end();
}

async function save(known: Known): Promise<void> {
  await onDatabase((client) => client.query('drop function pg_input_is_valid(text, text)'));
  const out = join(home, 'out');
  mkdirSync(out);
  writeFileSync(join(out, 'known.json'), JSON.stringify(known, null, 2));
  const dump = execFileSync(
    join(BIN, 'pg_dump'),
    ['--inserts', '--rows-per-insert=1000', '--no-owner', '--no-privileges', cluster.url],
    { encoding: 'utf8', maxBuffer: 1 << 28 },
  );
  // Commands of psql.
  writeFileSync(join(out, 'database.sql'), dump.replaceAll(/^\\.*$/gm, ''));
  for (const name of [
    'edge',
    'node',
    'nats',
    'edge.credential',
    'node.credential',
    'flows.credential',
    'far.credential',
  ]) {
    // Sockets and pipes are made anew; caches belong to the version.
    cpSync(join(home, name), join(out, name), {
      recursive: true,
      filter: (path) => !/compiled|\/(?:in|alive)$/.test(path),
    });
  }
  const archive = join(import.meta.dirname, `${known.commit.slice(0, 8)}.tar.gz`);
  execFileSync('tar', ['--sort=name', '--owner=0', '--group=0', '-C', out, '-czf', archive, '.']);
  console.log(`${archive}: ${readFileSync(archive).length} bytes`);
}
