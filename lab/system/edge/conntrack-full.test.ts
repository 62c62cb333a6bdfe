import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { SENTINELS, SERVER } from '../../stack/internet.ts';
import { missing } from '../../requirements.ts';
import type { ProbePacket } from '../../wire/probe.ts';
import {
  startStackFixture,
  eventually,
  type StackFixture,
  packet,
  whyNot,
} from '../stack-fixture.ts';

const lacking = missing(['conntrack']);
if (lacking !== null && process.env['PORTCULLIS_TEST_REQUIRE'] === 'all') {
  throw new Error(`these tests may not be skipped here, and cannot run: ${lacking}`);
}

const [DENIED, ALLOWED, LATER] = [19, 27_015, 27_016];
const LIMIT = '/proc/sys/net/netfilter/nf_conntrack_max';
/** A larger number would take too much time and memory on the test machine. */
const MOST = 1_000_000;

let fixture: StackFixture;
/** The limit of this machine, as it was: one number for all namespaces. What is counted is each one's own. */
let limit: number;

describe('a full connection tracking table', {
  skip: whyNot() || (lacking ?? false),
}, () => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-full-'));
  before(async () => {
    // Early drop off: it would drop denied packets itself, whatever nftables does.
    fixture = await startStackFixture('full', { earlyDrop: false });
    limit = Number(readFileSync(LIMIT, 'utf8'));
    if (limit > MOST) writeFileSync(LIMIT, String(MOST));
    await deny(DENIED);
  });
  after(async () => {
    if (limit > MOST) writeFileSync(LIMIT, String(limit));
    await fixture.stop();
    rmSync(folder, { recursive: true });
  });

  it('lets nothing denied pass, keeps flows under way, and has forgotten nothing when there is room again', async () => {
    const max = Math.min(limit, MOST);
    const { through, internet } = fixture;
    const underWay = newFlow(ALLOWED);
    const sentinel = { destination: SENTINELS.server[4], sourcePort: 40_000, destinationPort: 9 };
    fill(max, [underWay, { ...underWay, ...sentinel }]);
    const [, inserted] = /(\d+)/.exec(internet.edge.run('conntrack', '-C')) ?? [];
    assert.ok(Number(inserted) >= max * 0.99, `${inserted} of ${max}`);
    // The kernel drops new connections because the table is full, before any rule of ours.
    await eventually('it is full', async () => !(await through.passes(newFlow(ALLOWED))));
    for (let round = 0; round < 10; round++) {
      assert.equal(await through.passes(newFlow(DENIED)), false);
      assert.equal(await through.passes(underWay), true);
    }
    internet.edge.run('conntrack', '-F');
    assert.equal(await through.passes(newFlow(ALLOWED)), true);
    assert.equal(await through.passes(newFlow(DENIED)), false);
    await deny(LATER);
    await eventually('changes arrive', async () => !(await through.passes(newFlow(LATER))));
  });

  async function deny(port: number): Promise<void> {
    const { api } = fixture.stack;
    await api.createRule(SERVER[4], {
      action: 'deny',
      protocol: 'udp',
      destination_port: String(port),
    });
    await api.enforced(SERVER[4]);
  }

  /** Fills the table with connections that look established, which the kernel does not evict for new ones. */
  function fill(count: number, first: readonly ProbePacket[]): void {
    const file = join(folder, 'connections');
    const line = (from: string, to: string, sport: number, dport: number): string =>
      `-I -p udp -t 600 -u SEEN_REPLY,ASSURED -s ${from} -d ${to} --sport ${sport} --dport ${dport}\n`;
    const known = first.map(({ source, destination, sourcePort = 0, destinationPort = 0 }) =>
      line(source, destination, sourcePort, destinationPort),
    );
    const lines = Array.from({ length: count }, (_, index) => {
      const host = [index >> 16, (index >> 8) & 255, index & 255].join('.');
      return line(`10.${host}`, '10.200.0.1', 1_000, 2_000);
    });
    writeFileSync(file, [...known, ...lines].join(''));
    fixture.internet.edge.run('conntrack', '-F');
    // The last ones meet a full table.
    fixture.internet.edge.run(
      'sh',
      '-c',
      'conntrack --load-file "$0" >/dev/null 2>&1 || true',
      file,
    );
  }
});

function newFlow(destinationPort: number): ProbePacket {
  return packet(4, 'udp', { destinationPort });
}
