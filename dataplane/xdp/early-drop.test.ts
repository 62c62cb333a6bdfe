import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Policy } from '@portcullis/core/firewall/policy.ts';
import {
  attached,
  desired,
  device,
  flowTo,
  packetsOf,
  refused,
  setUp,
  WAN,
} from '../testing/early-drop.ts';
import { allowPort, denyAll } from '../testing/policies.ts';

const [A, B] = ['203.0.113.10', '203.0.113.11'] as const;

describe('the early drop of an edge', () => {
  it('drops denied packets once nftables has the policies', async () => {
    const { early, passes } = setUp();
    await early.apply(desired([denyAll(A, [allowPort('udp', 80)])]), []);
    assert.deepEqual([passes(A, 80), passes(A, 81), passes(B, 81)], [true, false, true]);
    assert.deepEqual(early.modeOf('wan'), { xdp: 'native', reason: null });
  });

  it('keeps the last policy of a refused target, and has none of a target that nftables never had', async () => {
    const { early, passes } = setUp();
    await early.apply(desired([denyAll(A, [allowPort('udp', 80)])]), []);
    const next = desired([denyAll(A, []), denyAll(B, [])]);
    await early.apply(next, [refused(A, 1), refused(B, 0)]);
    assert.deepEqual([passes(A, 80), passes(A, 81), passes(B, 81)], [true, false, true]);
    await early.apply(next, []);
    assert.deepEqual([passes(A, 80), passes(B, 81)], [false, false]);
  });

  it('is detached with a reason if it cannot be updated, and attached again later', async () => {
    const { early, driver } = setUp();
    await early.apply(desired([denyAll(A, [])]), []);
    driver.fail = new Error('out of memory');
    await early.apply(desired([denyAll(A, [allowPort('udp', 80)])]), []);
    assert.deepEqual(driver.devices(), []);
    assert.match(early.problems().join(), /out of memory/);
    assert.equal(early.modeOf('wan').xdp, 'none');
    driver.fail = null;
    await early.apply(desired([denyAll(A, [allowPort('udp', 80)])]), []);
    assert.deepEqual([driver.devices(), early.problems()], [[WAN], []]);
  });

  it('changes single targets in place, and reloads only for source sets', async () => {
    const { early, driver } = setUp();
    const others = Array.from({ length: 20 }, (_, index) => denyAll(`198.18.0.${index}`, []));
    await early.apply(desired([denyAll(A, []), ...others]), []);
    for (const port of [1, 2, 3]) {
      await early.apply(desired([denyAll(A, [allowPort('udp', port)]), ...others]), []);
    }
    await early.apply(desired(others), []);
    assert.equal(driver.loads, 1);
    const geo: Policy = {
      ...denyAll(A, []),
      rules: [],
      geo: [{ ref: 'geo-rule:1', action: 'deny', sets: ['country:AA'] }],
    };
    await early.apply(desired([geo, ...others], { version: '1' }), []);
    assert.equal(driver.loads, 2);
    await early.apply(desired([geo, ...others], { version: '1' }), []);
    assert.equal(driver.loads, 2);
    await early.apply(desired([geo, ...others], { version: '2' }), []);
    assert.equal(driver.loads, 3);
  });

  it('loads the prepared state with source sets, unless nftables refused a part', async () => {
    const geo: Policy = {
      ...denyAll(A, []),
      rules: [],
      geo: [{ ref: 'geo-rule:1', action: 'deny', sets: ['country:AA'] }],
    };
    const wanted = desired([geo, denyAll(B, [])], { version: '1' });
    for (const [refusals, ready] of [
      [[], 1],
      [[refused(B, 0)], 0],
    ] as const) {
      const { early, driver } = setUp();
      await early.prepare(wanted);
      await early.apply(wanted, refusals);
      assert.deepEqual([driver.loads, driver.preparedLoads], [1, ready]);
    }
  });

  it('checks devices after a change notification and every 30 s, and its programs on every repair', async (t) => {
    const { early, driver, devices } = setUp();
    const wanted = desired([denyAll(A, [])]);
    await early.apply(wanted, []);
    const stir = early.followDevices();
    assert.equal(early.needsApply(), false);
    devices.set('wan', device('wan', { ifindex: 9 }));
    assert.equal(early.needsApply(), false);
    driver.detach(WAN);
    assert.equal(early.needsApply(), true);
    driver.attach(WAN);
    assert.equal(early.needsApply(), false);
    stir();
    assert.deepEqual([early.needsApply(), early.needsApply()], [true, true]);
    await early.apply(wanted, []);
    assert.equal(early.needsApply(), false);
    devices.set('wan', device('wan', { ifindex: 11 }));
    assert.equal(early.needsApply(), false);
    const later = performance.now() + 31_000;
    t.mock.method(performance, 'now', () => later);
    assert.equal(early.needsApply(), true);
  });

  it('detects a detached program or a replaced device, and attaches again', async () => {
    const { early, driver, devices } = setUp();
    const wanted = desired([denyAll(A, [])]);
    await early.apply(wanted, []);
    assert.equal(early.needsApply(), false);
    driver.detach(WAN);
    assert.equal(early.needsApply(), true);
    await early.apply(wanted, []);
    assert.deepEqual([driver.devices(), early.needsApply()], [[WAN], false]);
    devices.set('wan', device('wan', { ifindex: 9 }));
    assert.equal(early.needsApply(), true);
    await early.apply(wanted, []);
    assert.deepEqual([driver.devices(), early.repairs], [[9], 1]);
    devices.delete('wan');
    assert.equal(early.needsApply(), true);
    await early.apply(wanted, []);
    assert.deepEqual([driver.devices(), early.needsApply()], [[], false]);
    assert.equal(early.modeOf('wan').reason, 'there is no such device');
  });

  it('drops no possible reply before it has learned every open flow', async () => {
    const learnt = Promise.withResolvers<boolean>();
    const { early, driver, passes } = setUp({
      openFlows: (take) => {
        take(flowTo(A, 40_000));
        return learnt.promise;
      },
    });
    const applied = early.apply(desired([denyAll(A, [])]), []);
    await attached(driver);
    assert.equal(passes(A, 40_000), true);
    learnt.resolve(true);
    await applied;
    assert.deepEqual([passes(A, 40_000), passes(A, 40_001)], [true, false]);
  });

  it('learns open flows again before it closes a port or an address, and never from an incomplete dump', async () => {
    let [requested, whole] = [0, true];
    const { early, passes } = setUp({
      openFlows: async (take) => {
        requested++;
        take(flowTo(A, 80));
        return whole;
      },
    });
    await early.apply(desired([denyAll(A, [allowPort('udp', 80)])]), []);
    await early.apply(desired([denyAll(A, [allowPort('udp', 80), allowPort('udp', 81)])]), []);
    assert.equal(requested, 1);
    whole = false;
    await early.apply(desired([denyAll(A, [])]), []);
    assert.ok(requested > 2, 'a dump that may lack some is asked for again');
    assert.deepEqual([passes(A, 80), passes(A, 82)], [true, true]);
    assert.match(early.problems().join(), /open flows are not known/);
    whole = true;
    requested = 0;
    await early.apply(desired([denyAll(A, [])]), []);
    assert.deepEqual([requested, passes(A, 80), passes(A, 82)], [1, true, false]);
    await early.apply(desired([denyAll(A, []), denyAll(B, [])]), []);
    assert.equal(requested, 2);
  });

  it('drops as before while it learns the flows needed to close a port, and then closes it', async () => {
    const dumps = [Promise.withResolvers<boolean>(), Promise.withResolvers<boolean>()] as const;
    const started = Promise.withResolvers<void>();
    let requested = 0;
    const { early, passes } = setUp({
      openFlows: (take) => {
        take(flowTo(A, 80));
        if (requested === 1) started.resolve();
        return dumps[requested++]?.promise ?? Promise.resolve(true);
      },
    });
    dumps[0].resolve(true);
    await early.apply(desired([denyAll(A, [allowPort('udp', 80)])]), []);
    const closing = early.apply(desired([denyAll(A, [])]), []);
    await started.promise;
    assert.deepEqual([passes(A, 80), passes(A, 81)], [true, false]);
    dumps[1].resolve(true);
    await closing;
    assert.deepEqual([requested, passes(A, 80), passes(A, 81)], [2, true, false]);
  });

  it('closes a port after a timeout without learned flows, and then drops no replies', async () => {
    const late = Promise.withResolvers<boolean>();
    let dumps = 0;
    const { early, passes } = setUp({
      openFlows: async () => dumps++ === 0 || late.promise,
    });
    await early.apply(desired([denyAll(A, [allowPort('udp', 80)])]), []);
    const closing = early.apply(desired([denyAll(A, [])]), []);
    const deadline = performance.now() + 5_000;
    while (!passes(A, 81) && performance.now() < deadline)
      await new Promise((resolve) => setTimeout(resolve, 5));
    assert.deepEqual([passes(A, 80), passes(A, 81)], [true, true]);
    late.resolve(true);
    await closing;
    assert.deepEqual([passes(A, 80), passes(A, 81)], [false, false]);
  });

  it('keeps the program of an earlier agent until it knows the open flows', async () => {
    const learnt = Promise.withResolvers<boolean>();
    const started = Promise.withResolvers<void>();
    const { early, driver, passes } = setUp({
      openFlows: () => {
        started.resolve();
        return learnt.promise;
      },
    });
    driver.predecessor = () => 'drop';
    const applied = early.apply(desired([denyAll(A, [allowPort('udp', 80)])]), []);
    await started.promise;
    assert.deepEqual([driver.watchesExactly([WAN]), passes(A, 80)], [true, false]);
    learnt.resolve(true);
    await applied;
    assert.deepEqual([passes(A, 80), passes(A, 81)], [true, false]);
  });

  it('records flows of evaluated addresses only', async () => {
    const { early, driver, passes } = setUp({
      openFlows: async (take) => {
        for (const [to, port] of [
          [A, 1],
          ['198.51.100.9', 2],
          ['192.0.2.9', 3],
        ] as const)
          take(flowTo(to, port));
        return true;
      },
    });
    await early.apply(desired([denyAll(A, []), denyAll('198.51.100.0/24', [])]), []);
    assert.deepEqual([passes(A, 1), passes('198.51.100.9', 2), passes(A, 2)], [true, true, false]);
    assert.equal(driver.remembered, 2);
  });

  it('observes egress on every device, and learns flows again when one is added', async () => {
    let requested = 0;
    const { early, driver, devices } = setUp({
      openFlows: async () => {
        requested++;
        return true;
      },
    });
    await early.apply(desired([denyAll(A, [])]), []);
    assert.deepEqual([driver.watchesExactly([WAN]), early.needsApply()], [true, false]);
    devices.set('out', device('out', { ifindex: 9 }));
    assert.equal(early.needsApply(), true);
    await early.apply(desired([denyAll(A, [])]), []);
    assert.deepEqual([driver.watchesExactly([WAN, 9]), requested], [true, 2]);
    assert.deepEqual(driver.devices(), [WAN]);
  });

  it('never attaches where it would see packets that are not evaluated', async () => {
    const { early, driver, devices } = setUp();
    const wanted = desired([denyAll(A, [])]);
    for (const [change, why] of [
      [{ isPort: true }, /port of a bridge/],
      [{ isEthernet: false }, /no Ethernet header/],
      [{ uppers: [{ name: 'macvlan0', vlan: null }] }, /macvlan0 is on top of it/],
      [{ uppers: [{ name: 'wan.5', vlan: 5 }], hidesTags: true }, /rxvlan off/],
    ] as const) {
      devices.set('wan', device('wan', change));
      await early.apply(wanted, []);
      assert.deepEqual(driver.devices(), []);
      assert.match(early.modeOf('wan').reason ?? '', why);
    }
    devices.set('wan', device('wan', { uppers: [{ name: 'wan.5', vlan: 5 }] }));
    assert.equal(early.needsApply(), true);
    await early.apply(wanted, []);
    assert.deepEqual([driver.devices(), early.needsApply()], [[WAN], false]);
  });

  it('reports each drop once, also of a removed target', async () => {
    const { early, passes } = setUp();
    await early.apply(desired([denyAll(A, []), denyAll(B, [])]), []);
    for (const port of [1, 2]) assert.equal(passes(A, port), false);
    assert.deepEqual(await packetsOf(early), { [A]: 2 });
    assert.equal(passes(B, 1), false);
    await early.apply(desired([denyAll(A, [])]), []);
    assert.deepEqual(await packetsOf(early), { [B]: 1 });
    assert.deepEqual(await packetsOf(early), {});
  });

  it('is detached from every device when it is disabled', async () => {
    const { early, driver } = setUp();
    await early.apply(desired([denyAll(A, [])]), []);
    early.remove();
    assert.deepEqual([driver.devices(), early.needsApply()], [[], false]);
  });

  it('does nothing on an unsupported host, and reports what is missing', async () => {
    const { early, driver } = setUp();
    driver.obstacle = 'early drop needs root';
    await early.apply(desired([denyAll(A, [])]), []);
    assert.deepEqual(early.modeOf('wan'), { xdp: 'none', reason: 'early drop needs root' });
    assert.equal(driver.loads, 0);
  });
});
