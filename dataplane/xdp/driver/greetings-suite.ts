import assert from 'node:assert/strict';
import { it } from 'node:test';
import { FILTERS } from '@portcullis/core/filters/catalogue.ts';
import { fits } from '@portcullis/core/filters/evaluate.ts';
import type { Filter } from '@portcullis/core/filters/filter.ts';
import { filled, payload } from '@portcullis/core/filters/testing/payloads.ts';
import type { Policy } from '@portcullis/core/firewall/policy.ts';
import { parseAddress } from '@portcullis/core/net/address.ts';
import fc from 'fast-check';
import { type FrameOptions, frameOf, udpPacket } from '../../testing/frames.ts';
import { allowPort, denyAll, EARLY_SETTINGS, filteredPolicy } from '../../testing/policies.ts';
import { compileEarly } from '../compile/compile.ts';
import { NO_UNIONS } from '../compile/unions.ts';
import { addressBytes } from '../maps/layout.ts';
import type { EarlyDropDriver, EarlySettings } from './driver.ts';

const DEVICE = 1;
const GAME = 27_015;
const PEER = 40_000;
const SETTINGS: EarlySettings = {
  ...EARLY_SETTINGS,
  management: [{ protocol: 'udp', port: 5_000 }],
  vlans: [{ ifindex: DEVICE, outer: 100, inner: 0 }],
};
const ENDS = [
  { server: '203.0.113.10', client: '192.0.2.9' },
  { server: '2001:db8:5::10', client: '2001:db8:c::9' },
] as const;
const FILLING = Buffer.from('of a game');
const QUERY = Buffer.from(
  `ffffffff54${Buffer.from('Source Engine Query\0').toString('hex')}`,
  'hex',
);

/** The guarantees of every driver about filters of UDP ports. `fresh` returns an empty one. */
export function greetingsSuite(fresh: () => EarlyDropDriver): void {
  const loaded = (policies: readonly Policy[], change: Partial<EarlySettings> = {}) => {
    const driver = fresh();
    driver.load(policies.map(compileEarly), { ...SETTINGS, ...change }, NO_UNIONS);
    driver.enforce();
    return driver;
  };
  const sent = (
    driver: EarlyDropDriver,
    { server, client }: (typeof ENDS)[number],
    data: Buffer,
    { port = GAME, ...options }: FrameOptions & { readonly port?: number } = {},
  ): 'pass' | 'drop' => {
    const frame = frameOf(udpPacket(client, server, port, PEER), { ...options, payload: data });
    return driver.evaluate(frame, DEVICE);
  };

  it('drops at a filtered port what no greeting is, and counts it as the filter’s', () => {
    for (const ends of ENDS) {
      const filtered = filteredPolicy(ends.server, ['source', GAME]);
      const open = { ...denyAll(ends.server, [allowPort('udp', GAME)]), filters: filtered.filters };
      for (const policy of [filtered, open]) {
        const driver = loaded([policy]);
        const noise = [Buffer.alloc(0), Buffer.from('x'), Buffer.alloc(1_200), QUERY.subarray(1)];
        for (const data of [...noise, QUERY.subarray(0, 24), Buffer.concat([QUERY, QUERY])])
          assert.equal(sent(driver, ends, data), 'drop', data.toString('hex'));
        for (const data of [QUERY, Buffer.concat([QUERY, Buffer.alloc(4)])])
          assert.equal(sent(driver, ends, data), 'pass', data.toString('hex'));
        assert.equal(sent(driver, ends, Buffer.from('x'), { tags: [100] }), 'drop');
        assert.equal(sent(driver, ends, QUERY, { tags: [100] }), 'pass');
        const counted = driver.counts().map(({ reason, packets }) => `${reason} ${packets}`);
        assert.deepEqual(counted, ['greetings 7']);
      }
    }
  });

  it('passes every greeting of every filter, and nothing that fits none of them', () => {
    const filters = (FILTERS as readonly Filter[]).filter(
      ({ udp }) => udp !== null && udp.greetings.length > 0,
    );
    const [ends] = ENDS;
    const ports = filters.map((_, index) => 1_000 + index);
    const wanted = filters.map(
      ({ type }, index) => [type, ports[index] ?? 0] as Parameters<typeof filteredPolicy>[1],
    );
    const driver = loaded([filteredPolicy(ends.server, ...wanted)]);
    filters.forEach(({ type, udp }, index) => {
      const port = ports[index] ?? 0;
      const greetings = [
        ...(udp?.greetings ?? []),
        ...(udp?.roaming?.kinds ?? []).flatMap(({ packets }) => packets),
      ];
      for (const greeting of greetings)
        assert.equal(
          sent(driver, ends, Buffer.from(filled(greeting, FILLING)), { port }),
          'pass',
          type,
        );
      fc.assert(
        fc.property(payload(), (data) => {
          const bytes = Buffer.from(data);
          const isGreeting = greetings.some((one) => fits(one, bytes));
          assert.equal(sent(driver, ends, bytes, { port }), isGreeting ? 'pass' : 'drop', type);
        }),
        { numRuns: 50 },
      );
    });
  });

  it('passes what a source sends that the port has answered', () => {
    for (const ends of ENDS) {
      const driver = loaded([filteredPolicy(ends.server, ['source', GAME])]);
      const bytesOf = (text: string): Buffer => {
        const address = parseAddress(text);
        assert.ok(address.ok);
        return addressBytes(address.value);
      };
      driver.remember([
        {
          family: ends.server.includes(':') ? 6 : 4,
          protocol: 17,
          local: bytesOf(ends.server),
          remote: bytesOf(ends.client),
          localPort: GAME,
          remotePort: PEER,
        },
      ]);
      const data = Buffer.from('data of a game');
      assert.equal(sent(driver, ends, data), 'pass');
      const other = frameOf(udpPacket(ends.client, ends.server, GAME, PEER + 1), { payload: data });
      assert.equal(driver.evaluate(other, DEVICE), 'drop');
    }
  });

  it('leaves to nftables what it cannot know: replies on another route, spared sources, other ports, cut packets', () => {
    for (const ends of ENDS) {
      const policy = filteredPolicy(ends.server, ['source', GAME], ['source', 5_000]);
      const data = Buffer.from('x');
      const driver = loaded([policy]);
      assert.equal(sent(driver, ends, data, { port: GAME + 1 }), 'pass');
      assert.equal(sent(driver, ends, data, { port: 5_000 }), 'pass', 'a management port');
      assert.equal(sent(driver, ends, Buffer.alloc(16), { cutAt: 54 }), 'pass');
      const tcp = { ...udpPacket(ends.client, ends.server, GAME), protocol: 6 };
      assert.equal(driver.evaluate(frameOf(tcp), DEVICE), 'pass');
      for (const change of [{ keepReplies: false }, { flowsComplete: false }])
        assert.equal(sent(loaded([policy], change), ends, data), 'pass');
      const filters = policy.filters.map((one) => ({ ...one, safelist: ['192.0.2.0/24'] }));
      assert.equal(sent(loaded([{ ...policy, filters }]), ends, data), 'pass');
      const network = ends.server.includes(':') ? '2001:db8:5::/64' : '203.0.113.0/24';
      assert.equal(sent(loaded([{ ...policy, target: network }]), ends, data), 'pass');
    }
  });

  it('changes with the filters of an address', () => {
    const [ends] = ENDS;
    const driver = loaded([filteredPolicy(ends.server, ['source', GAME])]);
    const data = Buffer.from('\xff\xff\xff\xffgetinfo', 'latin1');
    assert.equal(sent(driver, ends, data), 'drop');
    driver.change([compileEarly(filteredPolicy(ends.server, ['quake3', GAME]))], []);
    assert.equal(sent(driver, ends, data), 'pass');
    assert.equal(driver.isIntact(ends.server), true);
    driver.change([compileEarly(filteredPolicy(ends.server, ['source', GAME + 1]))], []);
    assert.equal(sent(driver, ends, Buffer.from('x')), 'pass');
    assert.equal(sent(driver, ends, Buffer.from('x'), { port: GAME + 1 }), 'drop');
    driver.change([], [ends.server]);
    assert.equal(sent(driver, ends, Buffer.from('x'), { port: GAME + 1 }), 'pass');
  });
}
