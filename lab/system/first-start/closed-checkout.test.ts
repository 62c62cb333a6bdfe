import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { eventually } from '@portcullis/cli/testing/eventually.ts';
import { CommandSession, RunningCommand } from '@portcullis/cli/testing/run.ts';
import { leaveUsualPort } from '@portcullis/cli/testing/usual-port.ts';
import type { Row } from '@portcullis/contract/endpoint.ts';
import { ENDPOINTS, V1_PREFIX } from '@portcullis/contract/endpoints.ts';
import { OPERATOR_ENDPOINTS, OPERATOR_PREFIX } from '@portcullis/contract/operator-endpoints.ts';
import { PORTAL_ENDPOINTS, PORTAL_PREFIX } from '@portcullis/contract/portal-endpoints.ts';
import { X1_ENDPOINTS, X1_PREFIX } from '@portcullis/contract/x1-endpoints.ts';
import { skipUnless } from '../../requirements.ts';

const REPOSITORY = join(import.meta.dirname, '..', '..', '..');
const PAGES = ['/', '/docs', '/problems/not_found', '/api/x1/openapi.json', '/healthz', '/readyz'];
/** The order of the methods; what ends an object, or the session that makes the calls, comes last. */
const ORDER = ['GET', 'POST', 'PUT', 'DELETE'];
/** CAP_DAC_READ_SEARCH of capabilities(7). */
const READS_EVERYTHING = 1n << 2n;

/** Bodies of rows without examples. */
const BODIES: Readonly<Record<string, unknown>> = {
  deleteRules: { ids: [1] },
  deleteFilters: { keys: ['source:1'] },
  renameAccount: { name: 'Ada L.' },
  beginTotp: {},
  inviteMember: { email: 'bob@example.net', role: 'member' },
  invitePerson: { email: 'carol@example.net', organisation: null, role: null },
  renameOrganisation: { name: 'First' },
  createGroup: {
    name: 'baseline',
    rules: [{ action: 'deny', protocol: 'udp', destination_port: '19' }],
    filters: [],
    targets: [],
  },
  saveThresholds: { pps: 20_000, mbps: 1_000, hold_seconds: 60 },
};

interface Started {
  readonly url: string;
  readonly keys: readonly { readonly key: string }[];
  readonly addresses: readonly string[];
  readonly server: { readonly uuid: string } | null;
  readonly operator_link: string | null;
}

/** A call by a caller who may make it. */
type Call = (method: string, path: string, body?: unknown) => Promise<Response>;

/**
 * Root starts the platform in a checkout below a folder that no other account may enter: nothing is read from it after
 * rights were dropped, however late.
 */
describe('the platform in a checkout below a folder of mode 0700', {
  skip: skipUnless(['root', 'netns', 'postgres']),
}, () => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-closed-'));
  const env = { PATH: process.env['PATH'], PORTCULLIS_DATA: join(folder, 'data') };
  const session = new CommandSession(env);
  let up: RunningCommand;
  let started: Started;
  let operator: Call;
  let releasePort = (): void => {};

  before(async () => {
    releasePort = await leaveUsualPort();
    up = startBelowClosed(folder, env, ['up', '--json']);
    started = JSON.parse(await up.prints(/^\}\n$/m)) as Started;
    const may = ['--ability', 'operator.read', 'operator.manage'];
    const made = await session.run(['keys', 'create', '--operator', '--name', 'all', ...may]);
    operator = callerOf(started.url, { authorization: `Bearer ${made.out.trim()}` });
  });
  after(async () => {
    releasePort();
    if (up.child.exitCode === null) await up.stop();
    await session.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('runs no process with a capability to read what is closed', async () => {
    const collector = {
      listen: '127.0.0.1:26343',
      exporters: [{ ip: '127.0.0.1', prefixes: 'all' }],
    };
    const saved = await operator('PUT', `${OPERATOR_PREFIX}/collectors/flows`, collector);
    assert.ok(saved.ok, await saved.text());
    const running = (): string[] =>
      ['control', 'edge', 'node', 'collector'].filter((role) => processOf(role, up) !== null);
    await eventually('every process runs', async () => running().length === 4);
    for (const role of ['edge', 'node', 'collector']) {
      const [, effective = ''] = /^CapEff:\s+(\w+)$/m.exec(processOf(role, up) ?? '') ?? [];
      assert.equal(BigInt(`0x${effective}`) & READS_EVERYTHING, 0n, role);
      if (role === 'collector') assert.match(effective, /^0+$/);
    }
  });

  it('answers every operation with anything but 500, and its pages', async () => {
    const caller = callerOf(started.url, { authorization: `Bearer ${started.keys[0]?.key}` });
    const person = await signIn(started);
    const counts = { tried: 0, succeeded: 0 };
    for (const [prefix, rows, call] of [
      [V1_PREFIX, ENDPOINTS, caller],
      [X1_PREFIX, X1_ENDPOINTS, caller],
      [OPERATOR_PREFIX, OPERATOR_ENDPOINTS, operator],
      [PORTAL_PREFIX, PORTAL_ENDPOINTS, person],
    ] as const) {
      for (const row of inOrder(rows)) {
        const statuses = await statusesOf(call, prefix, row, started);
        counts.tried += 1;
        if (statuses.some((status) => status < 300)) counts.succeeded += 1;
        assert.ok(!statuses.includes(500), `${row.operationId}: ${statuses}`);
      }
    }
    assert.ok(counts.tried > 120 && counts.succeeded > 50, JSON.stringify(counts));
    for (const page of PAGES) {
      const headers = { accept: 'text/html' };
      assert.equal((await fetch(`${started.url}${page}`, { headers })).status, 200, page);
    }
  });
});

describe('control with NATS in a checkout below a folder of mode 0700', {
  skip: skipUnless(['root', 'netns', 'postgres']),
}, () => {
  it('serves agents over NATS, though it has dropped root when it loads what that needs', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'portcullis-closed-'));
    const env = { PATH: process.env['PATH'], PORTCULLIS_DATA: join(folder, 'data') };
    const control = startBelowClosed(folder, env, ['control', '--nats', 'nats://127.0.0.1:1']);
    t.after(async () => {
      await control.stop();
      rmSync(folder, { recursive: true, force: true });
    });
    await control.prints(/dropped root privileges/, 'err');
    await control.prints(/"control is ready"/, 'err');
    await control.prints(/ECONNREFUSED 127\.0\.0\.1:1\b.*NATS is not reachable yet/, 'err');
  });
});

/** The checkout appears at another path for this process alone, and what is copied of it is gone with the process. */
function startBelowClosed(
  folder: string,
  env: NodeJS.ProcessEnv,
  args: readonly string[],
): RunningCommand {
  const script = `set -e
    mkdir -m 700 closed && mkdir closed/checkout && mount --bind "$REPOSITORY" closed/checkout
    mkdir -p /var/cache/portcullis && mount -t tmpfs -o mode=755 tmpfs /var/cache/portcullis
    chmod 711 .
    exec "$NODE" closed/checkout/cli/main.ts "$@" --listen 127.0.0.1:0 --metrics-listen 127.0.0.1:0`;
  const shell = ['sh', '-c', script, 'sh', ...args];
  const child = spawn('unshare', ['--mount', '--propagation', 'private', ...shell], {
    cwd: folder,
    env: { ...env, REPOSITORY, NODE: process.execPath },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return new RunningCommand([], env, child);
}

/** The status file of a process of `up`, or null. */
function processOf(role: string, up: RunningCommand): string | null {
  for (const pid of readdirSync('/proc')) {
    try {
      const status = readFileSync(`/proc/${pid}/status`, 'utf8');
      if (!status.includes(`\nPPid:\t${up.child.pid}\n`)) continue;
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
      if (command.includes(`/${role}/main.ts`)) return status;
    } catch {
      // It has ended meanwhile.
    }
  }
  return null;
}

function callerOf(url: string, headers: Readonly<Record<string, string>>): Call {
  return (method, path, body) =>
    fetch(`${url}${path}`, {
      method,
      redirect: 'manual',
      headers: {
        ...headers,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
}

async function signIn({ url, operator_link: link }: Started): Promise<Call> {
  const headers = { 'x-portcullis-csrf': '1', origin: url };
  const call = callerOf(url, headers);
  const person = { email: 'ada@example.net', password: 'a long enough phrase of Ada' };
  const accepted = { token: link?.split('#')[1], name: 'Ada', ...person };
  assert.ok((await call('POST', `${PORTAL_PREFIX}/links/accept`, accepted)).ok);
  const reply = await call('POST', `${PORTAL_PREFIX}/sign-in`, person);
  const cookie = reply.headers.getSetCookie()[0]?.split(';', 1)[0];
  assert.ok(reply.ok && cookie !== undefined, await reply.text());
  return callerOf(url, { ...headers, cookie });
}

function inOrder(rows: readonly Row[]): Row[] {
  const rank = ({ method, path }: Row): number =>
    ORDER.indexOf(method) + (method === 'DELETE' && path === '/session' ? 1 : 0);
  return rows.toSorted((a, b) => rank(a) - rank(b));
}

/** Tries a row with each example of its body, else with one of these, else with an empty one. */
async function statusesOf(
  call: Call,
  prefix: string,
  { operationId, method, path, body, bodyExamples, stream }: Row,
  started: Started,
): Promise<number[]> {
  const bodies = Object.values(bodyExamples ?? {});
  if (bodies.length === 0)
    bodies.push(body === undefined ? undefined : (BODIES[operationId] ?? {}));
  const statuses: number[] = [];
  for (const one of bodies) {
    const reply = await call(method, `${prefix}${fill(path, started)}`, one);
    statuses.push(reply.status);
    if (stream === true) await reply.body?.cancel();
    else await reply.arrayBuffer();
  }
  return statuses;
}

function fill(path: string, { addresses, server }: Started): string {
  const known: Readonly<Record<string, string | undefined>> = {
    ip: addresses[0],
    slice: server?.uuid,
    organisation: 'default',
    slug: 'default',
    name: 'other',
    kind: 'edge',
    asn: '64500',
  };
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => known[name] ?? '1');
}
