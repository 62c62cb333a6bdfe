import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import { parseAddress } from '@portcullis/core/net/address.ts';
import {
  bytesOf,
  type Connection,
  removeWhere,
  removeConnections,
} from '@portcullis/dataplane/kernel/netlink/conntrack.ts';
import {
  createDeniedMemory,
  type Forgotten,
} from '@portcullis/dataplane/connections/denied-memory.ts';
import { openLearnedReader } from '@portcullis/dataplane/nftables/elements/learned-reader.ts';
import { createLibraryDriver } from '@portcullis/dataplane/nftables/library.ts';
import { type Namespace, Network } from '../../stack/netns.ts';
import { missing } from '../../requirements.ts';

const lacking = missing(['root', 'netns', 'nft', 'conntrack']);
if (lacking !== null && process.env['PORTCULLIS_TEST_REQUIRE'] === 'all') {
  throw new Error(`these tests may not be skipped here, and cannot run: ${lacking}`);
}

const [SERVER, OTHER, CLIENT] = ['203.0.113.10', '203.0.113.20', '192.0.2.2'];
const [SERVER6, CLIENT6] = ['2001:db8:5::10', '2001:db8:c::2'];
const [TCP, UDP] = [6, 17];

describe('removal of tracked connections', { skip: lacking ?? false }, () => {
  const network = new Network('ct');
  let namespace: Namespace;
  before(() => {
    namespace = network.create('edge');
    namespace.run('nft', 'table inet t { chain c { ct state new accept; }; }');
  });
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-ct-'));
  after(() => {
    network.destroy();
    rmSync(folder, { recursive: true });
  });
  beforeEach(() => {
    namespace.run('conntrack', '-F');
    const pairs = [
      [CLIENT, SERVER],
      [CLIENT, OTHER],
      [SERVER, CLIENT],
      [CLIENT6, SERVER6],
    ] as const;
    insert([
      ...pairs.flatMap((pair) => [53, 80].flatMap((port) => connections(...pair, port))),
      `-I -p icmp -t 100 -s ${CLIENT} -d ${SERVER} --icmp-type 8 --icmp-code 0 --icmp-id 7`,
    ]);
  });

  const connections = (from: string, to: string, port: number): string[] => {
    const tuple = `-t 100 -s ${from} -d ${to} --sport 4000 --dport ${port}`;
    return [`-I -p udp ${tuple}`, `-I -p tcp ${tuple} --state ESTABLISHED`];
  };
  const insert = (lines: readonly string[]): void => {
    const file = join(folder, 'connections');
    writeFileSync(file, `${lines.join('\n')}\n`);
    namespace.run('conntrack', '--load-file', file);
  };
  /** The first packet's flow, such as `udp 192.0.2.2 203.0.113.10 53`. */
  const listed = (): string[] =>
    ['ipv4', 'ipv6']
      .flatMap((family) => namespace.run('conntrack', '-L', '-f', family).split('\n'))
      .filter(Boolean)
      .map((line) => {
        const [, source, destination] = /src=(\S+) dst=(\S+)/.exec(line) ?? [];
        const port = / dport=(\d+)/.exec(line)?.[1] ?? '-';
        return `${line.split(' ')[0]} ${source} ${destination} ${port}`;
      })
      .toSorted();
  /** Connections opened towards this address; null for all. */
  const remove = (
    address: string,
    { protocol, port }: { readonly protocol: number | null; readonly port: number | null },
  ): Promise<number> => {
    const parsed = parseAddress(address);
    assert.ok(parsed.ok);
    const destination = bytesOf(parsed.value);
    const wanted = (one: Connection): boolean =>
      one.destination.equals(destination) &&
      (protocol === null || one.protocol === protocol) &&
      (port === null || one.destinationPort === port);
    return namespace.within(() => removeWhere([parsed.value.family], wanted));
  };
  const gone = (before: readonly string[]): string[] => {
    const now = new Set(listed());
    return before.filter((line) => !now.has(line));
  };

  it('removes only connections to one port of one address', async () => {
    const before = listed();
    assert.equal(before.length, 17);
    assert.equal(await remove(SERVER, { protocol: UDP, port: 53 }), 1);
    assert.deepEqual(gone(before), [`udp ${CLIENT} ${SERVER} 53`]);
  });

  it('removes all connections of a protocol or of an address', async () => {
    const before = listed();
    assert.equal(await remove(SERVER, { protocol: TCP, port: null }), 2);
    assert.deepEqual(gone(before), [`tcp ${CLIENT} ${SERVER} 53`, `tcp ${CLIENT} ${SERVER} 80`]);
    assert.equal(await remove(SERVER, { protocol: null, port: 80 }), 1);
    assert.equal(await remove(SERVER, { protocol: null, port: null }), 2);
    assert.deepEqual(
      listed().filter((line) => line.includes(` ${CLIENT} ${SERVER}`)),
      [],
    );
    // Connections that the server opened stay.
    assert.equal(listed().filter((line) => line.includes(` ${SERVER} ${CLIENT}`)).length, 4);
  });

  it('removes IPv6 connections', async () => {
    const before = listed();
    assert.equal(await remove(SERVER6, { protocol: UDP, port: 80 }), 1);
    assert.deepEqual(gone(before), [`udp ${CLIENT6} ${SERVER6} 80`]);
  });

  it('removes the connections that a predicate selects', async () => {
    const before = listed();
    const wanted = (one: Connection): boolean => one.protocol === TCP && one.destinationPort === 80;
    assert.equal(await namespace.within(() => removeWhere([4, 6], wanted)), 4);
    assert.equal(gone(before).length, 4);
    assert.ok(gone(before).every((line) => /^tcp .* 80$/.test(line)));
  });

  it('removes thousands without blocking the event loop', async () => {
    insert(
      Array.from({ length: 2_000 }, (_, index) => {
        const ports = `--sport ${1_000 + index} --dport 7`;
        return `-I -p udp -t 100 -s ${CLIENT} -d ${OTHER} ${ports}`;
      }),
    );
    let turns = 0;
    const ticking = setInterval(() => turns++, 0);
    assert.equal(await remove(OTHER, { protocol: UDP, port: 7 }), 2_000);
    clearInterval(ticking);
    assert.ok(turns > 2, `${turns}`);
    assert.equal(await remove(OTHER, { protocol: UDP, port: 7 }), 0);
  });

  it('are swept little by little: those that are let go, of the addresses that are asked about', async () => {
    const before = listed();
    const to = (text: string): Buffer => {
      const parsed = parseAddress(text);
      assert.ok(parsed.ok);
      return bytesOf(parsed.value);
    };
    const asked = [to(SERVER), to(SERVER6)];
    const shown: string[] = [];
    const sweep = (letGo: boolean): ReturnType<typeof removeConnections> =>
      namespace.within(() =>
        removeConnections({
          mayMatch: (_, destination) => asked.some((one) => one.equals(destination)),
          wanted: ({ protocol, destinationPort, icmp, secondsLeft }) => {
            assert.ok(secondsLeft !== null && secondsLeft > 50 && secondsLeft <= 100);
            shown.push(`${protocol} ${destinationPort ?? JSON.stringify(icmp)}`);
            return destinationPort !== 80;
          },
          confirm: async () => letGo,
        }),
      );
    assert.equal((await sweep(false)).removed, 0);
    assert.deepEqual(listed(), before);
    const of6 = ['17 53', '17 80', '6 53', '6 80'];
    assert.deepEqual(shown.toSorted(), ['1 {"type":8,"code":0}', ...of6, ...of6].toSorted());
    assert.equal((await sweep(true)).removed, 5);
    assert.deepEqual(
      gone(before),
      [
        `icmp ${CLIENT} ${SERVER} -`,
        `tcp ${CLIENT6} ${SERVER6} 53`,
        `tcp ${CLIENT} ${SERVER} 53`,
        `udp ${CLIENT6} ${SERVER6} 53`,
        `udp ${CLIENT} ${SERVER} 53`,
      ].toSorted(),
    );
  });

  it('removes a hundred thousand without long pauses of the event loop', async (t) => {
    const COUNT = 120_000;
    const [asked, other] = [0, 1].map((net) =>
      Array.from({ length: COUNT / 2 }, (_, index) => {
        const client = `10.${net}.${index >> 8}.${index & 255}`;
        return `-I -p udp -t 600 -s ${client} -d ${net === 0 ? SERVER : OTHER} --sport 5 --dport 7`;
      }),
    ) as [string[], string[]];
    insert([...asked, ...other]);
    const parsed = parseAddress(SERVER);
    assert.ok(parsed.ok);
    const destination = bytesOf(parsed.value);
    let [batches, largest] = [0, 0];
    // CPU time of this thread between two turns of the event loop, independent of the machine's load.
    const turnsMs: number[] = [];
    let last = process.threadCpuUsage();
    const ticking = setInterval(() => {
      const now = process.threadCpuUsage();
      turnsMs.push((now.user + now.system - last.user - last.system) / 1_000);
      last = now;
    }, 0);
    const pass = (wanted: boolean) =>
      namespace.within(async () => {
        const beginMs = performance.now();
        const { removed } = await removeConnections({
          mayMatch: (_, to) => to.equals(destination),
          wanted: () => wanted,
          confirm: async (count) => {
            batches += 1;
            largest = Math.max(largest, count);
            return true;
          },
        });
        return { removed, ms: Math.round(performance.now() - beginMs) };
      });
    const looked = await pass(false);
    const removed = await pass(true);
    clearInterval(ticking);
    turnsMs.sort((one, other) => one - other);
    const [half, most, longest] = [0.5, 0.99, 1].map(
      (part) => turnsMs[Math.ceil(turnsMs.length * part) - 1] ?? 0,
    ) as [number, number, number];
    t.diagnostic(
      `${COUNT} connections: looked through in ${looked.ms} ms, ${removed.removed} of them removed in ` +
        `${removed.ms} ms, ${largest} at most at a time; turns of ${half} ms (99 of 100 within ${most}, all within ${longest})`,
    );
    assert.ok(removed.removed >= COUNT / 2);
    // Memory holds the entries of one turn, not all entries.
    assert.ok(batches > 20 && largest < 2_000, `${batches}, ${largest}`);
    // A slow machine needs longer for a turn and for all of them: none but few are more than a small part.
    const all = turnsMs.reduce((sum, one) => sum + one, 0);
    assert.ok(most < all / 20, `${most} of ${all} ms`);
  });

  it('are remembered in the kernel for as long as they would have been known, up to what there is room for', async (t) => {
    namespace.run(
      'nft',
      `table inet portcullis {
        set denied_flows4 {
          type ipv4_addr . inet_service . ipv4_addr . inet_service . inet_proto;
          size 3; flags dynamic,timeout; timeout 600s;
        }
      }`,
    );
    t.after(() => namespace.run('nft', 'delete table inet portcullis'));
    const driver = namespace.within(() => createLibraryDriver());
    const memory = createDeniedMemory(driver, () => {});
    const flow = (sourcePort: number, secondsLeft: number): Forgotten => {
      const ends = { source: CLIENT, destination: SERVER, sourcePort, destinationPort: 53 };
      return { flow: { family: 4, protocol: UDP, icmp: null, ...ends }, secondsLeft };
    };
    assert.equal(await memory.keep([flow(1, 30), flow(2, 7_200)]), true);
    // What is there needs no other place.
    assert.equal(await memory.keep([flow(1, 30)]), true);
    assert.equal(await memory.keep([flow(3, 30), flow(4, 30)]), false);
    const reader = namespace.within(openLearnedReader);
    t.after(() => reader.close());
    const found = await namespace.within(() => reader.read('denied_flows', 4));
    const nowMs = performance.now();
    assert.deepEqual(
      found
        ?.map(
          ({ fields, expiresAtMs }) => [fields.join(' '), (expiresAtMs - nowMs) / 1_000] as const,
        )
        .map(([fields, seconds]) => `${fields}, ${Math.ceil(seconds / 60)} minutes`)
        .toSorted(),
      [`${CLIENT} 1 ${SERVER} 53 udp, 10 minutes`, `${CLIENT} 2 ${SERVER} 53 udp, 120 minutes`],
    );
  });
});
