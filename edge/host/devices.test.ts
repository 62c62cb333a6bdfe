import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import type { LinkEvent } from '@portcullis/dataplane/kernel/netlink/links.ts';
import { kindOf, NamedDevices } from './devices.ts';
import type { Host } from './host.ts';

function hostOf(
  masters: Readonly<Record<string, string | null>>,
  down: readonly string[] = [],
): Host {
  return {
    localAddresses: () => [],
    devices: () => Object.keys(masters),
    isUp: (device) => !down.includes(device),
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

test('knows a device by the name that it got a moment ago, whose event still waits', () => {
  const named = new NamedDevices(hostOf({ wan: null }));
  const waiting: LinkEvent[] = [{ kind: 'renamed', index: 2, before: 'ens18', name: 'wan' }];
  named.beforeLook(() => {
    for (const event of waiting.splice(0)) named.follow(event);
  });
  assert.deepEqual(named.resolve(['ens*']), ['wan']);
  assert.deepEqual(waiting, []);
});

test('reports devices in the order of the operator, with problems before the reason for a mode other than native', () => {
  const modes = {
    modeOf: (device: string) =>
      device === 'nope'
        ? { xdp: 'native' as const, reason: null }
        : { xdp: 'tc' as const, reason: 'no native support' },
  };
  const host = hostOf(
    { lone: null, port: 'br-none', member: 'bond-none', 'bond-none': null, off: null },
    ['off'],
  );
  const reported = new NamedDevices(host)
    .describe(['port', 'nope', 'member', 'bond-none', 'lone', 'lone', 'off'], modes)
    .map(({ name, present, receives, xdp, reason, master }) => ({
      name,
      present,
      receives,
      xdp,
      reason,
      master,
    }));
  const there = { present: true, receives: true, xdp: 'tc' } as const;
  const generic = 'no native support';
  assert.deepEqual(reported, [
    {
      name: 'port',
      ...there,
      receives: false,
      reason: 'nothing enters by a port: name its master br-none as the device',
      master: 'br-none',
    },
    {
      name: 'nope',
      present: false,
      receives: false,
      xdp: 'none',
      reason: 'there is no such device on this host',
      master: null,
    },
    { name: 'member', ...there, reason: generic, master: 'bond-none' },
    { name: 'bond-none', ...there, reason: generic, master: null },
    { name: 'lone', ...there, reason: generic, master: null },
    { name: 'off', ...there, receives: false, reason: 'it is down', master: null },
  ]);
});

test('packets come in by all, some or none of the devices, and the reason names the others', () => {
  const devices = new NamedDevices(hostOf({ lo: null, ens18: null, ens19: null }, ['ens19']));
  assert.deepEqual(devices.reception(['ens18']), { by: 'all', reason: null });
  assert.deepEqual(devices.reception(['ens18', 'ens19', 'eth0']), {
    by: 'some',
    reason:
      'no packet can come in by ens19 (it is down), eth0 (there is no such device on this host)',
  });
  assert.equal(devices.reception(['eth0', 'ens19']).by, 'none');
  assert.equal(devices.reception([]).by, 'none');
});

test('a pattern stands for the present devices that it matches, without the loopback', () => {
  const devices = new NamedDevices(hostOf({ lo: null, ens18: null, ens19: null, lan: null }));
  assert.deepEqual(devices.resolve(['ens*', 'ens18', 'wan']), ['ens18', 'ens19', 'wan']);
  assert.deepEqual(devices.resolve(['l*', 'eth*']), ['lan']);
  assert.deepEqual(devices.reception(['ens*']), { by: 'all', reason: null });
  assert.deepEqual(devices.reception(['eth*', 'lan']), {
    by: 'some',
    reason: 'no packet can come in by eth* (no device of this host matches it)',
  });
});

describe('devices that are renamed', () => {
  const after = (...events: readonly LinkEvent[]): NamedDevices => {
    const devices = new NamedDevices(hostOf({ wan0: null }));
    for (const event of events) devices.follow(event);
    return devices;
  };
  const renamed = (index: number, before: string, name: string): LinkEvent => ({
    kind: 'renamed',
    index,
    before,
    name,
  });

  it('are protected under both names, and the report asks the operator to name the new one', () => {
    const devices = after(renamed(3, 'wan', 'wan0'), renamed(4, 'lan', 'lan0'));
    assert.deepEqual(devices.resolve(['wan']), ['wan', 'wan0']);
    assert.deepEqual(devices.resolve(['wan*']), ['wan0']);
    assert.deepEqual(devices.resolve(['dmz']), ['dmz']);
    assert.deepEqual(devices.reception(['wan']), {
      by: 'some',
      reason:
        'no packet can come in by wan (it is called wan0 now: name it so, or a restart leaves it open)',
    });
  });

  it('are followed over several renames and back', () => {
    const twice = [renamed(3, 'wan', 'wan0'), renamed(3, 'wan0', 'wan1')];
    assert.deepEqual(after(...twice).resolve(['wan']), ['wan', 'wan1']);
    assert.deepEqual(after(...twice, renamed(3, 'wan1', 'wan')).resolve(['wan']), ['wan']);
  });

  it('are forgotten when the device disappears or the operator names it', () => {
    const one = renamed(3, 'wan', 'wan0');
    const gone = { kind: 'gone', index: 3, name: 'wan0' } as const;
    assert.deepEqual(after(one, gone).resolve(['wan']), ['wan']);
    assert.deepEqual(after(one).resolve(['wan0']), ['wan0']);
    assert.deepEqual(after(one).resolve(['wan', 'wan0']), ['wan', 'wan0']);
  });
});
