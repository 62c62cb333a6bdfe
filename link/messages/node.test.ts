import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { Egg } from '@portcullis/core/game-servers/egg.ts';
import { type ServerAssignment, UNLIMITED } from '@portcullis/core/game-servers/power.ts';
import type { NodeCall, NodeHeartbeat, NodePage, ServerBuild } from './node.ts';
import { mutations } from '../testing/mutations.ts';
import { parseAnswer, parseCall, parseReply, parseRequest } from './messages.ts';

const UUID = '6f1c2f1e-6b3a-4b0e-9a55-0a4f4f8f3c11';
const DIGEST = 'a'.repeat(64);

const EGG: Egg = {
  name: 'Example',
  description: '',
  images: [{ label: 'local', reference: 'example', local: true }],
  startup: 'run {{PORT}}',
  launch: 'startup',
  done: [{ kind: 'regex', pattern: 'ready' }],
  stop: { kind: 'command', command: 'stop' },
  stopTimes: { termAfterMs: 60_000, killAfterMs: 10_000 },
  configFiles: [
    {
      path: 'server.properties',
      parser: 'properties',
      replacements: [{ match: 'port', ifValue: null, value: '{{server.build.default.port}}' }],
    },
  ],
  install: {
    image: { label: 'local', reference: 'example', local: true },
    entrypoint: 'sh',
    script: 'true\n',
  },
  variables: [
    {
      name: 'Port',
      description: '',
      viewable: false,
      editable: false,
      env: 'PORT',
      defaultValue: '1',
      rules: ['required'],
    },
  ],
  capabilities: ['NET_BIND_SERVICE'],
  protocols: ['tcp', 'udp'],
  filters: ['source'],
  fileDenylist: [],
};
const SERVER: ServerAssignment = {
  uuid: UUID,
  organisation: 'acme',
  name: 'Survival',
  egg: DIGEST,
  image: null,
  variables: { MOTD: 'hello\nworld' },
  limits: { ...UNLIMITED, memory: 1024, cpu: 100, disk: 2048 },
  allocation: { ip: '2001:db8::10', port: 25_565 },
  ports: [],
  suspended: false,
  crashes: { restart: true, withinMs: 60_000, tries: 1 },
  startWithHost: 'as_before',
  stopAfterMs: null,
  buildEpoch: 1,
  dockerImage: null,
  startup: null,
  mounts: [],
  isRestored: false,
  emptyFiles: null,
};
const PAGE: NodePage = {
  kind: 'node.page',
  revision: 'r1',
  unchanged: false,
  servers: [SERVER],
  eggs: { [DIGEST]: EGG },
  purge: [],
  next: null,
};
const BUILD: ServerBuild = {
  uuid: UUID,
  epoch: 1,
  state: 'failed',
  reason: 'the install ended with code 1',
  log: 'line\nline',
  power: 'offline',
  crashedAtMs: null,
  resources: null,
};
const BEAT: NodeHeartbeat = {
  kind: 'node.heartbeat',
  instance: 'one',
  engine: {
    kind: 'docker',
    version: '20.10',
    problem: null,
    host: null,
    mounts: null,
    fileLinks: true,
  },
  builds: [BUILD],
  purged: [],
  sftp: {
    port: 2_022,
    address: null,
    fingerprint: 'SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU',
  },
};

describe('node messages', () => {
  it('accepts a page unchanged', () => {
    assert.deepEqual(parseReply(PAGE), { ok: true, value: PAGE });
  });

  it('gives a server the defaults of what an older control does not send', () => {
    const { memory, cpu, disk } = SERVER.limits;
    const { dockerImage: _d, startup: _s, mounts: _m, isRestored: _r, ...server } = SERVER;
    const { purge: _p, ...page } = PAGE;
    const older = { ...page, servers: [{ ...server, limits: { memory, cpu, disk } }] };
    assert.deepEqual(parseReply(older), { ok: true, value: PAGE });
  });

  it('takes a heartbeat of an older node as one of a node without SFTP', () => {
    const { sftp: _, ...older } = BEAT;
    assert.deepEqual(parseRequest('node', older), { ok: true, value: { ...BEAT, sftp: null } });
  });

  it('accepts a heartbeat, and drops the fields that a newer node adds', () => {
    const newer = { ...BEAT, extra: 1, builds: [{ ...BUILD, extra: 2 }] };
    assert.deepEqual(parseRequest('node', newer), { ok: true, value: BEAT });
  });

  it('accepts every answer unchanged', () => {
    const resources = {
      memoryBytes: 1,
      memoryLimitBytes: 2,
      cpuAbsolute: 0.123,
      diskBytes: 3,
      networkRxBytes: 4,
      networkTxBytes: 5,
      uptimeMs: 6,
    };
    for (const answer of [
      { kind: 'accepted' },
      { kind: 'refused', reason: 'the server is stopping' },
      { kind: 'state', state: 'running', resources, problem: null, launched: null },
      { kind: 'state', state: 'offline', resources: null, problem: 'It ended.', launched: null },
      { kind: 'lines', lines: ['one', 'two'], lastNumber: 7 },
    ]) {
      assert.deepEqual(parseAnswer({ kind: 'node.call' }, answer), { ok: true, value: answer });
    }
  });

  const invalid: Readonly<Record<string, object>> = {
    'a uuid in capitals': { uuid: UUID.toUpperCase() },
    'an unknown state': { state: 'done' },
    'an epoch below zero': { epoch: -1 },
    'an unknown power state': { power: 'on' },
  };
  for (const [what, wrong] of Object.entries(invalid)) {
    it(`rejects a build with ${what}`, () => {
      const beat = { ...BEAT, builds: [{ ...BUILD, ...wrong }] };
      assert.equal(parseRequest('node', beat).ok, false);
    });
  }

  it('cuts a log that is too long', () => {
    const beat = { ...BEAT, builds: [{ ...BUILD, log: 'x'.repeat(100_000) }] };
    const parsed = parseRequest('node', beat);
    assert.ok(parsed.ok && parsed.value.kind === 'node.heartbeat');
    assert.equal(parsed.value.builds[0]?.log?.length, 16_384);
  });
});

it('messages of nodes never make the parser throw', () => {
  fc.assert(
    fc.property(mutations([PAGE, BEAT]), (value) => {
      assert.equal(typeof parseRequest('node', value).ok, 'boolean');
      assert.equal(typeof parseReply(value).ok, 'boolean');
    }),
  );
});

describe('calls to nodes', () => {
  const call = (what: unknown): NodeCall =>
    ({ kind: 'node.call', withinMs: 1, uuid: UUID, call: what }) as NodeCall;
  const command = (line: string) => parseCall(call({ kind: 'command', command: line })).ok;

  it('accepts a command of up to 2048 characters, counted in code points', () => {
    assert.ok(command('x'.repeat(2_048)) && command('😀'.repeat(2_048)));
    assert.ok(!command('x'.repeat(2_049)) && !command('😀'.repeat(2_049)) && !command(''));
  });

  it('rejects a command with a control character or a lone surrogate', () => {
    const codes = ['\r', '\n', '\0', '\u001b', '\u0003', '\u007f', '\u0085', '\u2028', '\ud800'];
    for (const code of codes) {
      assert.ok(!command(`say ${code}`), JSON.stringify(code));
    }
  });

  it('rejects an unknown signal', () => {
    assert.ok(parseCall(call({ kind: 'power', signal: 'kill' })).ok);
    assert.ok(!parseCall(call({ kind: 'power', signal: 'KILL' })).ok);
    assert.ok(!parseCall(call({ kind: 'toString' })).ok);
  });
});
