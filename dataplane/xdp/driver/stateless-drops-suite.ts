import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Packet } from '@portcullis/core/firewall/packet.ts';
import type { Mitigation, Policy } from '@portcullis/core/firewall/policy.ts';
import { parseAddress } from '@portcullis/core/net/address.ts';
import { frameOf, udpPacket } from '../../testing/frames.ts';
import { allowPort, EARLY_SETTINGS, filteredPolicy } from '../../testing/policies.ts';
import { compileEarly } from '../compile/compile.ts';
import type { EarlyDropDriver } from './driver.ts';
import { addressBytes } from '../maps/layout.ts';
import { NO_UNIONS } from '../compile/unions.ts';

const DEVICE = 1;
const GAME = 27_015;
const DNS = 53;
const ADDRESSES = [
  { server: '203.0.113.10', around: '203.0.113.0/24', other: '203.0.113.99', from: '192.0.2.' },
  {
    server: '2001:db8:5::10',
    around: '2001:db8:5::/64',
    other: '2001:db8:5::99',
    from: '2001:db8:c::',
  },
] as const;

/** The guarantees of every driver about mitigations. `fresh` returns an empty one. */
export function statelessDropsSuite(fresh: () => EarlyDropDriver): void {
  const loaded = (...policies: readonly Policy[]): EarlyDropDriver => {
    const driver = fresh();
    driver.load(policies.map(compileEarly), EARLY_SETTINGS, NO_UNIONS);
    driver.enforce();
    return driver;
  };
  const evaluate = (driver: EarlyDropDriver, packet: Packet): 'pass' | 'drop' =>
    driver.evaluate(frameOf(packet), DEVICE);

  it('drops answers of reflectors to an attacked address, and counts them as mitigation drops', () => {
    for (const { server, other, from } of ADDRESSES) {
      // A rule that opens its port is evaluated after mitigations.
      const driver = loaded({ ...attacked(server, REFLECTOR), rules: [allowPort('udp', GAME)] });
      const answer = { ...udpPacket(`${from}9`, server, GAME), sourcePort: DNS };
      assert.equal(evaluate(driver, answer), 'drop');
      assert.equal(evaluate(driver, { ...answer, sourcePort: DNS + 1 }), 'pass');
      assert.equal(evaluate(driver, { ...answer, destination: other }), 'pass');
      assert.equal(evaluate(driver, { ...answer, protocol: 6 }), 'pass');
      const counted = driver
        .counts()
        .map(({ target, reason, packets }) => [target, reason, packets]);
      assert.deepEqual(counted, [[server, 'mitigations', 1]]);
    }
  });

  it('drops a named source only for the protocol of its flood', () => {
    for (const { server, from } of ADDRESSES) {
      const driver = loaded(attacked(server, { source: `${from}9` }));
      const flood = udpPacket(`${from}9`, server, GAME);
      assert.equal(evaluate(driver, flood), 'drop');
      assert.equal(evaluate(driver, { ...flood, source: `${from}8` }), 'pass');
      assert.equal(evaluate(driver, { ...flood, protocol: 6 }), 'pass');
    }
  });

  it('leaves to nftables what the target has answered of a named source, and all where answers are unknown', () => {
    for (const { server, from } of ADDRESSES) {
      const source = `${from}9`;
      const driver = loaded(attacked(server, { source, limit: UNANSWERED }));
      const flood = udpPacket(source, server, GAME);
      assert.equal(evaluate(driver, flood), 'drop');
      const { family, sourcePort } = flood;
      const [local, remote] = [bytesOf(server), bytesOf(source)];
      const ports = { localPort: GAME, remotePort: sourcePort ?? 0 };
      driver.remember([{ family, protocol: 17, local, remote, ...ports }]);
      assert.equal(evaluate(driver, flood), 'pass');
      const forged = { ...flood, sourcePort: (sourcePort ?? 0) + 1 };
      assert.equal(evaluate(driver, forged), 'drop');
      driver.configure({ ...EARLY_SETTINGS, flowsComplete: false });
      assert.equal(evaluate(driver, forged), 'pass');
      driver.configure({ ...EARLY_SETTINGS, keepReplies: false });
      assert.equal(evaluate(driver, forged), 'pass');
      driver.configure(EARLY_SETTINGS);
      assert.equal(evaluate(driver, forged), 'drop');
      // Conntrack knows the connections of TCP by their sequence numbers.
      const tcp = loaded(attacked(server, { protocol: 'tcp', source, limit: UNANSWERED }));
      assert.equal(evaluate(tcp, { ...flood, protocol: 6 }), 'pass');
      const whole = loaded(
        attacked(server, { source, limit: UNANSWERED }, { source, ref: 'mitigation:2' }),
      );
      whole.configure({ ...EARLY_SETTINGS, keepReplies: false });
      assert.equal(evaluate(whole, flood), 'drop');
    }
  });

  it('exempts the safelist, and leaves larger safelists to nftables', () => {
    for (const { server, from } of ADDRESSES) {
      const safe = Array.from({ length: 9 }, (_, index) => `${from}${2 * index + 1}`);
      for (const count of [1, 8, 9]) {
        const safelist = safe.slice(0, count);
        const driver = loaded(attacked(server, { ...REFLECTOR, safelist }));
        const answer = { ...udpPacket(`${from}98`, server, GAME), sourcePort: DNS };
        for (const source of safelist)
          assert.equal(evaluate(driver, { ...answer, source }), 'pass');
        assert.equal(evaluate(driver, answer), count <= 8 ? 'drop' : 'pass', `${count}`);
      }
      const safelist = [`${from}9`];
      const driver = loaded(attacked(server, { source: `${from}9`, safelist }));
      assert.equal(evaluate(driver, udpPacket(`${from}9`, server, GAME)), 'pass');
    }
  });

  it('applies mitigations of a prefix too, and none after their removal', () => {
    for (const { server, around, other, from } of ADDRESSES) {
      const driver = loaded(attacked(around, REFLECTOR), filteredPolicy(server));
      const answer = { ...udpPacket(`${from}9`, other, GAME), sourcePort: DNS };
      assert.equal(evaluate(driver, answer), 'drop');
      assert.ok(driver.isIntact(around));
      // It has its own policy without mitigations.
      assert.equal(evaluate(driver, { ...answer, destination: server }), 'pass');
      driver.change([compileEarly(filteredPolicy(around))], []);
      assert.equal(evaluate(driver, answer), 'pass');
      driver.change([compileEarly(attacked(server, REFLECTOR))], []);
      assert.equal(evaluate(driver, { ...answer, destination: server }), 'drop');
      driver.change([compileEarly(filteredPolicy(server))], []);
      assert.equal(evaluate(driver, { ...answer, destination: server }), 'pass');
    }
  });

  it('passes replies to flows of the protected side', () => {
    for (const { server, from } of ADDRESSES) {
      const driver = loaded(attacked(server, REFLECTOR));
      const answer = { ...udpPacket(`${from}9`, server, 40_000), sourcePort: DNS };
      assert.equal(evaluate(driver, answer), 'drop');
      const [local, remote] = [bytesOf(server), bytesOf(`${from}9`)];
      const { family } = answer;
      const ports = { localPort: 40_000, remotePort: DNS };
      driver.remember([{ family, protocol: 17, local, remote, ...ports }]);
      assert.equal(evaluate(driver, answer), 'pass');
      assert.equal(evaluate(driver, { ...answer, destinationPort: 40_001 }), 'drop');
    }
  });

  it('drops nothing for mitigations that observe, limit a rate or match fragments', () => {
    for (const { server, from } of ADDRESSES) {
      const limit = { per: 'destination', pps: 0, unansweredOnly: false } as const;
      const answer = { ...udpPacket(`${from}9`, server, GAME), sourcePort: DNS };
      const others: readonly Partial<Mitigation>[] = [
        { ...REFLECTOR, mode: 'observe' },
        { ...REFLECTOR, limit },
        { fragment: 'later' },
        { ...REFLECTOR, destinationPort: GAME },
      ];
      for (const one of others)
        assert.equal(evaluate(loaded(attacked(server, one)), answer), 'pass');
    }
  });
}

const REFLECTOR = { sourcePort: DNS } as const;
const UNANSWERED = { per: 'source', pps: 0, unansweredOnly: true, answeredPps: 250 } as const;

function attacked(target: string, ...changes: readonly Partial<Mitigation>[]): Policy {
  const mitigations = changes.map(
    (change): Mitigation => ({
      ref: 'mitigation:1',
      mode: 'enforce',
      protocol: 'udp',
      sourcePort: null,
      destinationPort: null,
      source: null,
      safelist: [],
      fragment: 'any',
      limit: null,
      ...change,
    }),
  );
  return { ...filteredPolicy(target), mitigations };
}

function bytesOf(text: string): Buffer {
  const parsed = parseAddress(text);
  if (!parsed.ok) throw new Error(parsed.reason);
  return addressBytes(parsed.value);
}
