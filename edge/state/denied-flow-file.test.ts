import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { type Address, parseAddress } from '@portcullis/core/net/address.ts';
import { bytesOf, type Connection } from '@portcullis/dataplane/kernel/netlink/conntrack.ts';
import type { Learned } from '@portcullis/dataplane/nftables/elements/learned-reader.ts';
import { CHAIN_START, frame, unframe } from './frames.ts';
import { DeniedFlowFile } from './denied-flow-file.ts';

const [CLIENT, SERVER, CONTAINER] = ['192.0.2.2', '203.0.113.10', '172.30.0.2'];

function bytes(text: string): Buffer {
  const parsed = parseAddress(text);
  assert.ok(parsed.ok);
  return bytesOf(parsed.value satisfies Address);
}

/** Opened by the server towards the client; for a container, by its own address. */
function begunByServer(clientPort: number, from = SERVER): Connection {
  const [family, protocol] = [4, 17] as const;
  const reply = {
    family,
    protocol,
    source: bytes(CLIENT),
    destination: bytes(SERVER),
    sourcePort: clientPort,
    destinationPort: 53,
  };
  const there = { source: bytes(from), destination: bytes(CLIENT) };
  const ports = { sourcePort: 53, destinationPort: clientPort };
  return {
    family,
    protocol,
    ...there,
    ...ports,
    reply,
    icmp: null,
    secondsLeft: 900,
    isAnswered: true,
    isProxied: false,
  };
}

function ground(t: TestContext) {
  const stateDir = mkdtempSync(join(tmpdir(), 'portcullis-file-'));
  t.after(() => rmSync(stateDir, { recursive: true }));
  const kernel: { table: Learned[] | null; connections: Connection[] } = {
    table: [],
    connections: [],
  };
  const file = new DeniedFlowFile({
    stateDir,
    log: { debug() {}, info() {}, warn() {}, error() {} },
    open: () => ({
      read: async (state, family) =>
        kernel.table?.filter(({ set }) => set === `${state}${family}`) ?? null,
      close: () => {},
    }),
    eachConnection: async (visit) => kernel.connections.forEach(visit),
  });
  return { kernel, file, path: join(stateDir, 'enforced', 'denied-flows.jsonl') };
}

function denied(clientPort: number): Learned {
  const fields = [CLIENT, `${clientPort}`, SERVER, '53', 'udp'];
  return { set: 'denied_flows4', family: 4, fields, expiresAtMs: Infinity };
}

test('restores the still valid flows of a removed table by public address with their remaining time', async (t) => {
  const { kernel, file } = ground(t);
  kernel.table = [denied(1), denied(2), denied(3)];
  await file.save();
  kernel.table = null;
  // Another program removed it: nothing more is known.
  await file.save();
  kernel.connections = [begunByServer(2), begunByServer(3, CONTAINER), begunByServer(4)];
  const back = await file.load();
  assert.deepEqual(
    back.map(({ set, fields }) => ({ set, fields })),
    [denied(2), denied(3)].map(({ set, fields }) => ({ set, fields })),
  );
  for (const { expiresAtMs } of back)
    assert.ok(Math.abs((expiresAtMs - performance.now()) / 1_000 - 900) < 60);
});

test('has the flows that were denied since, if another program removed the table', async (t) => {
  const { kernel, file } = ground(t);
  kernel.table = null;
  file.copy([denied(5), denied(6)]);
  kernel.connections = [begunByServer(6), begunByServer(7)];
  assert.deepEqual(
    (await file.load()).map(({ fields }) => fields),
    [denied(6).fields],
  );
});

test('ignores a file that is missing, damaged or from another boot', async (t) => {
  const { kernel, file, path } = ground(t);
  assert.deepEqual(await file.load(), []);
  kernel.table = [denied(1)];
  kernel.connections = [begunByServer(1)];
  await file.save();
  assert.equal((await file.load()).length, 1);
  const text = readFileSync(path, 'utf8');
  const [record] = unframe(Buffer.from(text)).records;
  writeFileSync(path, frame(CHAIN_START, { ...(record as object), boot: 'another' }).text);
  assert.deepEqual(await file.load(), []);
  writeFileSync(path, text.replace('203', '204'));
  assert.deepEqual(await file.load(), []);
});
