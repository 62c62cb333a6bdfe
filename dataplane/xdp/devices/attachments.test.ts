import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Attachments } from './attachments.ts';
import type { Device } from './device.ts';
import type { Attached } from '../driver/driver.ts';
import { createFakeEarlyDrop } from '../driver/fake.ts';

const WAN = 7;
const VLAN = 8;
const TWICE = 9;
const BUSY: Attached = { mode: 'none', reason: 'another XDP program is on this device' };

describe('programs on devices', () => {
  it('are attached again by a repair that reads no device properties, and that is counted', () => {
    const { attachments, driver, reads } = attached();
    const before = reads();
    assert.deepEqual([attachments.repair(), attachments.repairs], [[], 0]);
    driver.detach(WAN);
    assert.deepEqual([attachments.repair(), attachments.repairs], [['wan'], 1]);
    assert.deepEqual([driver.devices(), attachments.modeOf('wan')?.xdp], [[WAN], 'native']);
    assert.equal(reads(), before);
  });

  it('are reported as off while another program is attached, and are attached again after it', (t) => {
    let nowMs = 0;
    t.mock.method(performance, 'now', () => nowMs);
    const { attachments, driver } = attached();
    const attach = t.mock.method(driver, 'attach', () => BUSY);
    driver.detach(WAN);
    assert.deepEqual(attachments.repair(), ['wan']);
    assert.equal(attachments.modeOf('wan')?.xdp, 'none');
    assert.equal(attachments.isComplete, false);
    for (nowMs = 100; nowMs < 1_000; nowMs += 100) assert.deepEqual(attachments.repair(), []);
    assert.equal(attach.mock.callCount(), 1, 'the kernel is not asked at every look');
    attach.mock.restore();
    nowMs = 2_000;
    assert.deepEqual(attachments.repair(), ['wan']);
    assert.deepEqual([driver.devices(), attachments.modeOf('wan')?.xdp], [[WAN], 'native']);
  });

  it('stay on a device during a rename, and are removed from one that is gone or no longer named', () => {
    const { attachments, driver, call } = attached();
    const apply = (...named: string[]): number[] => {
      attachments.readDevices(named);
      attachments.attach();
      return driver.devices();
    };
    call('elsewhere');
    assert.deepEqual(apply('wan'), [WAN], 'nobody has heard of its new name');
    assert.deepEqual(apply('wan'), [WAN]);
    assert.deepEqual(apply('wan', 'elsewhere'), [WAN]);
    assert.equal(attachments.modeOf('elsewhere')?.xdp, 'native');
    assert.deepEqual(apply('wan'), [], 'its new name is not ours');
    call('wan');
    assert.deepEqual(apply('wan'), [WAN]);
    call(null);
    assert.deepEqual(apply('wan'), []);
  });

  it('are not attached again to a device that is no longer named, or after their removal', () => {
    const { attachments, driver } = attached();
    attachments.readDevices([]);
    attachments.attach();
    assert.deepEqual([driver.devices(), attachments.repair(), driver.devices()], [[], [], []]);
    attachments.readDevices(['wan']);
    attachments.attach();
    attachments.remove();
    assert.deepEqual([attachments.repair(), driver.devices()], [[], []]);
  });

  it('are attached to the lower device and not to its upper devices, which would count packets twice', (t) => {
    const { attachments, driver } = stacked('vlan', 'wan', 'twice');
    assert.deepEqual(driver.devices(), [WAN, TWICE], 'tags in tags are read by nobody beneath');
    const mode = attachments.modeOf('vlan');
    assert.deepEqual(mode, { xdp: 'native', reason: 'its packets are evaluated on wan' });
    assert.deepEqual([attachments.isComplete, attachments.hasChanged()], [true, false]);
    // If the lower device is not possible, the upper device gets its own program.
    const attach = driver.attach.bind(driver);
    t.mock.method(driver, 'attach', (index: number) => (index === WAN ? BUSY : attach(index)));
    driver.detach(WAN);
    assert.deepEqual(attachments.repair(), ['wan']);
    assert.deepEqual([attachments.modeOf('vlan')?.xdp, attachments.isComplete], ['none', false]);
    attachments.attach();
    assert.deepEqual(driver.devices(), [VLAN]);
    assert.deepEqual(attachments.modeOf('vlan'), { xdp: 'native', reason: null });
    assert.equal(attachments.modeOf('twice')?.reason, 'its packets are evaluated on vlan');
  });
});

/** Two stacked VLANs on a device. */
function stacked(...named: string[]) {
  const driver = createFakeEarlyDrop();
  const devices: Readonly<Record<string, Device>> = {
    wan: { ...wan('wan'), uppers: [{ name: 'vlan', vlan: 100 }] },
    vlan: { ...wan('vlan'), ifindex: VLAN, uppers: [{ name: 'twice', vlan: 7 }] },
    twice: { ...wan('twice'), ifindex: TWICE },
  };
  const attachments = new Attachments(driver, {
    readDevice: (name) => devices[name] ?? null,
    deviceName: () => null,
  });
  attachments.readDevices(named);
  attachments.attach();
  return { attachments, driver };
}

function attached() {
  const driver = createFakeEarlyDrop();
  let reads = 0;
  /** The name of the device, or null if it is gone. */
  let called: string | null = 'wan';
  const attachments = new Attachments(driver, {
    readDevice: (name) => {
      reads++;
      return name === called ? wan(name) : null;
    },
    deviceName: (ifindex) => (ifindex === WAN ? called : null),
  });
  attachments.readDevices(['wan']);
  attachments.attach();
  return {
    attachments,
    driver,
    reads: () => reads,
    call: (name: string | null) => (called = name),
  };
}

function wan(name: string): Device {
  return { name, ifindex: WAN, uppers: [], isPort: false, hidesTags: false, isEthernet: true };
}
