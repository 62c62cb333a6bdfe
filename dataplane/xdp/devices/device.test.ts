import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  type Device,
  lowerDeviceWithProgram,
  egressDevices,
  parseVlan,
  planDevice,
  shapeOf,
} from './device.ts';

/** The content of /sys/class/net of a host: two ports in a bond with VLANs, one of them in a bridge. */
const SYS: Readonly<Record<string, readonly string[]>> = {
  eno1: ['address', 'bonding_slave', 'device', 'master', 'queues', 'type', 'upper_bond0'],
  eno2: ['address', 'bonding_slave', 'device', 'master', 'queues', 'type', 'upper_bond0'],
  bond0: ['bonding', 'lower_eno1', 'lower_eno2', 'type', 'upper_bond0.100', 'upper_bond0.200'],
  'bond0.100': ['lower_bond0', 'type', 'upper_bond0.100.7'],
  'bond0.100.7': ['lower_bond0.100', 'type'],
  'bond0.200': ['brport', 'lower_bond0', 'master', 'type', 'upper_vmbr0'],
  vmbr0: ['bridge', 'brif', 'lower_bond0.200', 'lower_tap0', 'type'],
  eno3: ['address', 'device', 'type', 'upper_macvlan0'],
  macvlan0: ['lower_eno3', 'type'],
  eno4: ['address', 'device', 'type', 'upper_vxlan0'],
  vxlan0: ['lower_eno4', 'type'],
};
/** A file as in /proc/net/vlan. */
const vlanFile = (name: string, tag: number): string =>
  `${name}  VID: ${tag}\t REORDER_HDR: 1  dev->priv_flags: 1021\n         total frames received  9\n`;
const VLANS: Readonly<Record<string, string>> = {
  'bond0.100': vlanFile('bond0.100', 100),
  'bond0.100.7': vlanFile('bond0.100.7', 7),
  'bond0.200': vlanFile('bond0.200', 200),
};

const vlanOf = (name: string): number | null => parseVlan(VLANS[name] ?? '');
const isTunnel = (name: string): boolean => name === 'vxlan0';
const devices = new Map(
  Object.entries(SYS).map(([name, entries], index): [string, Device] => [
    name,
    {
      name,
      ifindex: index + 2,
      ...shapeOf(entries, vlanOf, isTunnel),
      hidesTags: false,
      isEthernet: true,
    },
  ]),
);

function plan(name: string, ...named: string[]) {
  return planDevice(devices.get(name) as Device, new Set([name, ...named]));
}
function beneath(name: string, ...named: string[]): string | undefined {
  const seen = new Map([name, ...named].map((one) => [one, devices.get(one) ?? null]));
  return lowerDeviceWithProgram(name, seen, new Set(seen.keys()))?.name;
}

describe('the use of a device of a host', () => {
  it('never includes a port of a bond or bridge, for any other named devices', () => {
    const reason = 'nothing enters by a port of a bridge or bond';
    assert.deepEqual(plan('eno1', 'eno2', 'bond0'), { attach: false, reason });
    assert.deepEqual(plan('bond0.200', 'vmbr0'), { attach: false, reason });
  });

  it('covers a bond with its named VLANs, and passes traffic of other VLANs', () => {
    assert.deepEqual(plan('bond0'), { attach: true, vlans: [] });
    assert.deepEqual(plan('bond0', 'bond0.100'), { attach: true, vlans: [100] });
    assert.deepEqual(plan('bond0', 'bond0.100', 'bond0.200'), { attach: true, vlans: [100, 200] });
    assert.deepEqual(plan('vmbr0'), { attach: true, vlans: [] });
  });

  it('sees outgoing packets once: below VLANs of any depth, and at the master of a port', () => {
    const leaving = new Set(egressDevices([...devices.values()]));
    const names = [...devices.values()].filter(({ ifindex }) => leaving.has(ifindex));
    assert.deepEqual(
      names.map(({ name }) => name),
      ['bond0', 'vmbr0', 'eno3', 'macvlan0', 'eno4', 'vxlan0'],
    );
    // The lower device is in another network namespace and is not visible here.
    const alone = [devices.get('bond0.100') as Device, devices.get('bond0.100.7') as Device];
    assert.deepEqual(egressDevices(alone), [alone[0]?.ifindex]);
    const tunnel = { ...(devices.get('eno3') as Device), isEthernet: false };
    assert.deepEqual(egressDevices([tunnel]), []);
  });

  it('excludes lower devices, unless the upper one is named or has a readable tag', () => {
    const reason = 'macvlan0 is on top of it and is not protected';
    assert.deepEqual(plan('eno3'), { attach: false, reason });
    assert.deepEqual(plan('eno3', 'macvlan0'), { attach: true, vlans: [] });
  });

  it('includes devices with tunnels, whose packets are evaluated encapsulated', () => {
    assert.deepEqual(plan('eno4'), { attach: true, vlans: [] });
    assert.equal(beneath('vxlan0', 'eno4'), undefined);
  });

  it('evaluates packets once: at the lower device if that sees all of them', () => {
    assert.equal(beneath('bond0.100', 'bond0'), 'bond0');
    assert.equal(beneath('macvlan0', 'eno3'), 'eno3');
    assert.equal(beneath('bond0.100'), undefined, 'nothing beneath it is named');
    // Two tags are read only at the device of the first.
    assert.equal(beneath('bond0.100.7', 'bond0'), undefined);
    assert.equal(beneath('bond0', 'eno1', 'eno2'), undefined, 'ports have no program');
    assert.equal(beneath('vmbr0', 'bond0.200'), undefined);
  });
});
