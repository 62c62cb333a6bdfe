import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeDevices, kindOf } from './devices.ts';
import type { Host } from './host.ts';

function hostOf(masters: Readonly<Record<string, string | null>>): Host {
  return {
    localAddresses: () => [],
    devices: () => Object.keys(masters),
    masterOf: (device) => masters[device] ?? null,
  };
}

test('determines the kind of a device by its driver or its bus', () => {
  assert.equal(kindOf({ driver: '802.1Q VLAN Support', bus: 'N/A' }), 'vlan');
  assert.equal(kindOf({ driver: 'bonding', bus: '' }), 'bond');
  assert.equal(kindOf({ driver: 'ixgbe', bus: '0000:01:00.0' }), 'physical');
  assert.equal(kindOf({ driver: 'tun', bus: 'tap' }), 'other');
  assert.equal(kindOf({ driver: 'dummy', bus: '' }), 'other');
  assert.equal(kindOf(null), 'other');
});

test('reports devices in the order of the operator, with problems before the reason for a mode other than native', () => {
  const modes = {
    modeOf: (device: string) =>
      device === 'nope'
        ? { xdp: 'native' as const, reason: null }
        : { xdp: 'generic' as const, reason: 'no native support' },
  };
  const host = hostOf({ lone: null, port: 'br-none', member: 'bond-none', 'bond-none': null });
  const reported = describeDevices(
    ['port', 'nope', 'member', 'bond-none', 'lone', 'lone'],
    host,
    modes,
  ).map(({ name, present, xdp, reason, master }) => ({ name, present, xdp, reason, master }));
  const there = { present: true, xdp: 'generic' } as const;
  const generic = 'no native support';
  assert.deepEqual(reported, [
    {
      name: 'port',
      ...there,
      reason: 'nothing enters by a port: name its master br-none as the device',
      master: 'br-none',
    },
    {
      name: 'nope',
      present: false,
      xdp: 'none',
      reason: 'there is no such device on this host (yet)',
      master: null,
    },
    { name: 'member', ...there, reason: generic, master: 'bond-none' },
    { name: 'bond-none', ...there, reason: generic, master: null },
    { name: 'lone', ...there, reason: generic, master: null },
  ]);
});
