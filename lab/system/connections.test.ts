import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import { parseAddress } from '@portcullis/core/net/address.ts';
import { bytesOf, type Connection, removeWhere } from '@portcullis/edge/kernel/conntrack.ts';
import { type Namespace, Network } from '../netns.ts';
import { missing } from '../requirements.ts';

const lacking = missing(['root', 'netns', 'nft', 'conntrack']);
if (lacking !== null && process.env['PORTCULLIS_TEST_REQUIRE'] === 'all') {
  throw new Error(`these tests may not be skipped here, and cannot run: ${lacking}`);
}

const [SERVER, OTHER, CLIENT] = ['203.0.113.10', '203.0.113.20', '192.0.2.2'];
const [SERVER6, CLIENT6] = ['2001:db8:5::10', '2001:db8:c::2'];
const [TCP, UDP] = [6, 17];

describe('connections that are to begin anew', { skip: lacking ?? false }, () => {
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
  /** Of the first packet: `udp 192.0.2.2 203.0.113.10 53`. */
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
  /** Those that somebody began towards this; null: every one. */
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

  it('are those to one port of one address, and no other', async () => {
    const before = listed();
    assert.equal(before.length, 17);
    assert.equal(await remove(SERVER, { protocol: UDP, port: 53 }), 1);
    assert.deepEqual(gone(before), [`udp ${CLIENT} ${SERVER} 53`]);
  });

  it('are those of a protocol, or of the address, where no more is asked', async () => {
    const before = listed();
    assert.equal(await remove(SERVER, { protocol: TCP, port: null }), 2);
    assert.deepEqual(gone(before), [`tcp ${CLIENT} ${SERVER} 53`, `tcp ${CLIENT} ${SERVER} 80`]);
    assert.equal(await remove(SERVER, { protocol: null, port: 80 }), 1);
    assert.equal(await remove(SERVER, { protocol: null, port: null }), 2);
    assert.deepEqual(
      listed().filter((line) => line.includes(` ${CLIENT} ${SERVER}`)),
      [],
    );
    // What the server began itself stays.
    assert.equal(listed().filter((line) => line.includes(` ${SERVER} ${CLIENT}`)).length, 4);
  });

  it('are of IPv6 too', async () => {
    const before = listed();
    assert.equal(await remove(SERVER6, { protocol: UDP, port: 80 }), 1);
    assert.deepEqual(gone(before), [`udp ${CLIENT6} ${SERVER6} 80`]);
  });

  it('may be chosen by asking about each', async () => {
    const before = listed();
    const wanted = (one: Connection): boolean => one.protocol === TCP && one.destinationPort === 80;
    assert.equal(await namespace.within(() => removeWhere([4, 6], wanted)), 4);
    assert.equal(gone(before).length, 4);
    assert.ok(gone(before).every((line) => /^tcp .* 80$/.test(line)));
  });

  it('are removed by the thousand while others get their turn', async () => {
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
});
