import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Family } from '@portcullis/core/net/address.ts';
import type { Namespace } from '../../stack/netns.ts';
import { require } from '../../requirements.ts';
import { addressOf, floodOf } from '../dataplane/policies.ts';
import { Range } from './traffic.ts';

const PACKETS = 1024;
const PORT = 9;

/** Counters of the network stack by name, such as `Udp.NoPorts`, `Tcp.InSegs` and `Udp6NoPorts`. */
function counters(namespace: Namespace): ReadonlyMap<string, number> {
  const [v4, v6] = ['snmp', 'snmp6'].map((file) => namespace.run('cat', `/proc/net/${file}`));
  const found = new Map<string, number>();
  const lines = (v4 ?? '').trim().split('\n');
  for (let at = 0; at + 1 < lines.length; at += 2) {
    const [group = '', ...names] = (lines[at] ?? '').split(/\s+/);
    const values = (lines[at + 1] ?? '').split(/\s+/).slice(1);
    names.forEach((name, index) =>
      found.set(`${group.slice(0, -1)}.${name}`, Number(values[index])),
    );
  }
  for (const line of (v6 ?? '').trim().split('\n')) {
    const [name = '', value] = line.split(/\s+/);
    found.set(name, Number(value));
  }
  return found;
}

describe('the generator of the benchmarks', () => {
  for (const family of [4, 6] as const satisfies readonly Family[]) {
    it(`IPv${family}: makes UDP and TCP that a kernel takes, as many as asked for`, async (t) => {
      if (!require(t, ['root', 'netns', 'nft', 'bpf', 'ethtool'])) return;
      const range = new Range(`generator${family}`);
      t.after(() => range.destroy());
      const target = range.target();
      const { namespace } = target;
      const own = `${addressOf(family, 0)}/${family === 4 ? 24 : 120}`;
      namespace.run('ip', `-${family}`, 'route', 'add', 'local', own, 'dev', 'lo');
      const plan = floodOf({ family, addresses: 250, rules: 10, end: 'deny' });
      // With as much room before them as XDP reserves, and with less.
      for (const [tcpShare, headroom] of [
        [0, 256],
        [1, 96],
      ] as const) {
        const { sent, taken } = await range.send(
          target,
          { ...plan, tcpShare, headroom, ports: [PORT, PORT] },
          PACKETS,
        );
        assert.equal(sent, PACKETS);
        assert.ok(taken >= PACKETS);
      }
      const seen = counters(namespace);
      const udp = family === 4 ? 'Udp.' : 'Udp6';
      assert.equal(seen.get(`${udp}NoPorts`), PACKETS);
      assert.equal(seen.get(`${udp}InCsumErrors`), 0);
      assert.equal(seen.get('Tcp.InSegs'), PACKETS);
      assert.equal(seen.get('Tcp.InCsumErrors'), 0);
      // A SYN to a port that nobody listens on is refused, so it was read as one.
      assert.equal(seen.get('Tcp.OutRsts'), PACKETS);
    });
  }
});
