import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFakeEarlyDrop } from '../driver/fake.ts';
import { FastPath, type FastPathBase } from './fast-path.ts';
import { answerHooks, planPorts, type PortFacts } from './ports.ts';

const WAN = 7;
const LAN = 8;
const BASE: FastPathBase = { sees: 'both', isComplete: true, entries: new Map([[WAN, 'native']]) };

function device(ifindex: number, change: Partial<PortFacts> = {}): PortFacts {
  return {
    ifindex,
    name: ifindex === WAN ? 'wan' : 'lan',
    mac: Buffer.from('020000000001', 'hex'),
    kind: '',
    bus: 'pci',
    isUp: true,
    hasMaster: false,
    hasUppers: false,
    hidesTags: false,
    transmits: true,
    hasQdisc: false,
    filtersEntering: false,
    filtersLeaving: false,
    ...change,
  };
}

function setUp({ wan = {}, lan = {} }: Record<string, Partial<PortFacts>> = {}) {
  const driver = createFakeEarlyDrop();
  const host = { skipped: null as string | null };
  const fast = new FastPath(driver, {
    skipped: () => host.skipped,
    ports: (entries) => planPorts([device(WAN, wan), device(LAN, lan)], entries),
  });
  return { driver, fast, host };
}

test('forwards between the devices, and never while rules are written', () => {
  const { driver, fast } = setUp();
  assert.equal(fast.state().isOn, false);
  fast.resume(() => BASE);
  assert.deepEqual(fast.state(), { isOn: true, reason: null, packets: 0 });
  assert.deepEqual(
    driver.forwarding?.map(({ ifindex, isEntry, isExit }) => [ifindex, isEntry, isExit]),
    [
      [WAN, true, true],
      [LAN, true, true],
    ],
  );
  assert.deepEqual(driver.answering(), new Map([[LAN, 'native']]));
  fast.suspend();
  assert.equal(driver.forwarding, null);
  fast.refresh();
  assert.equal(driver.forwarding, null);
  fast.resume(() => BASE);
  assert.notEqual(driver.forwarding, null);
});

test('is off, with the reason, where packets would skip something', () => {
  const off: readonly (readonly [RegExp, Partial<FastPathBase>, Parameters<typeof setUp>[0]])[] = [
    [/sees no answers/, { sees: 'inbound' }, {}],
    [/not on every device/, { isComplete: false }, {}],
    [/on top of it/, {}, { wan: { hasUppers: true } }],
    [/rxvlan off/, {}, { wan: { hidesTags: true } }],
    [/filters of tc/, {}, { wan: { filtersEntering: true } }],
    [/is a bridge/, {}, { lan: { kind: 'bridge' } }],
    [/belongs to another/, {}, { lan: { hasMaster: true } }],
    [/no frames from XDP/, {}, { lan: { transmits: false } }],
    [/queueing discipline/, {}, { lan: { hasQdisc: true } }],
    [/filters of tc/, {}, { lan: { filtersLeaving: true } }],
    [/is down/, {}, { lan: { isUp: false } }],
  ];
  for (const [reason, base, devices] of off) {
    const { driver, fast } = setUp(devices);
    fast.resume(() => ({ ...BASE, ...base }));
    assert.equal(fast.state().isOn, false);
    assert.match(fast.state().reason ?? '', reason);
    assert.equal(driver.forwarding, null);
  }
  const { driver, fast, host } = setUp();
  host.skipped = 'a chain of others';
  fast.resume(() => BASE);
  assert.deepEqual([fast.state().reason, driver.forwarding], [host.skipped, null]);
});

test('is off where the host cannot be checked, or the operator switched it off', () => {
  const driver = createFakeEarlyDrop();
  const unknown = new FastPath(driver, {
    skipped: () => {
      throw new Error('no answer');
    },
    ports: () => assert.fail(),
  });
  unknown.resume(() => BASE);
  assert.match(unknown.state().reason ?? '', /cannot be checked: .*no answer/);
  const switchedOff = new FastPath(driver, null);
  switchedOff.resume(() => BASE);
  assert.deepEqual(switchedOff.state(), { isOn: false, reason: 'switched off', packets: 0 });
  assert.equal(driver.forwarding, null);
});

test('forwards at tc where a card has no XDP, or takes no frames from it', () => {
  const entries = new Map([[WAN, 'tc']] as const);
  for (const change of [{ transmits: false }, { hidesTags: true }]) {
    const { driver, fast } = setUp({ wan: change, lan: change });
    fast.resume(() => ({ ...BASE, entries }));
    assert.equal(fast.state().reason, null);
    assert.deepEqual(
      driver.forwarding?.map(({ isEntry, isTcExit }) => [isEntry, isTcExit]),
      [
        [true, true],
        [true, true],
      ],
    );
    fast.resume(() => BASE);
    assert.notEqual(fast.state().reason, null);
  }
});

test('forwards answers at tc, or by XDP where a card hands over whole packets', () => {
  const cases: readonly (readonly [Partial<PortFacts>, readonly string[] | null])[] = [
    [{}, ['native', 'tc']],
    [{ hidesTags: true }, ['tc']],
    [{ kind: 'veth', transmits: false }, ['tc']],
    [{ kind: 'bridge' }, null],
    [{ hasUppers: true }, null],
    [{ hasMaster: true }, null],
    [{ filtersEntering: true }, null],
    [{ isUp: false }, null],
    [{ mac: null }, null],
  ];
  for (const [facts, hooks] of cases) assert.deepEqual(answerHooks(device(LAN, facts)), hooks);
  const { answers } = planPorts([device(WAN), device(LAN)], BASE.entries);
  assert.deepEqual(
    answers.map(({ ifindex }) => ifindex),
    [LAN],
  );
});

test('verifies checksums of packets unless their card finishes them', () => {
  for (const [bus, needsChecks] of [
    ['pci', false],
    ['virtio', false],
    ['', true],
    ['xen', true],
  ] as const) {
    const { ports } = planPorts([device(WAN, { bus }), device(LAN)], BASE.entries);
    assert.equal(ports.find(({ ifindex }) => ifindex === WAN)?.needsChecks, needsChecks, bus);
  }
});
