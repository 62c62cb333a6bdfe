import { setImmediate } from 'node:timers/promises';
import type { Policy, RefusedTarget } from '@portcullis/core/firewall/policy.ts';
import type { Log } from '@portcullis/core/log.ts';
import type { Desired } from '../desired.ts';
import type { Device } from '../xdp/devices/device.ts';
import { EarlyDrop } from '../xdp/early-drop.ts';
import { createFakeEarlyDrop, type FakeEarlyDrop } from '../xdp/driver/fake.ts';
import type { Flow } from '../xdp/flows/mark-keys.ts';

/** An early drop with a fake driver and one device. */
export const WAN = 7;

export interface SetUp {
  readonly early: EarlyDrop;
  readonly driver: FakeEarlyDrop;
  readonly devices: Map<string, Device>;
  readonly passes: (to: string, port: number) => boolean;
}

type OpenFlows = (take: (flow: Flow) => void) => Promise<boolean>;

export function setUp({
  openFlows = async () => true,
  room = Infinity,
}: {
  openFlows?: OpenFlows;
  room?: number;
} = {}): SetUp {
  const driver = createFakeEarlyDrop({ capacity: room });
  const devices = new Map([['wan', device('wan')]]);
  const early = new EarlyDrop({
    driver,
    readDevice: (name) => devices.get(name) ?? null,
    deviceName: (ifindex) =>
      [...devices.values()].find((one) => one.ifindex === ifindex)?.name ?? null,
    listDevices: () => [...devices.keys()],
    openFlows,
    remember: () => ({ tcp: 600, udp: 180, other: 60 }),
    forwarding: null,
    log: SILENT,
  });
  const passes = (to: string, port: number): boolean => driver.passes(to, port);
  return { early, driver, devices, passes };
}

const SILENT: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** Resolves when its program is attached to a device, even if the apply still waits. */
export async function attached(driver: FakeEarlyDrop): Promise<void> {
  for (let turn = 0; turn < 100 && driver.devices().length === 0; turn++) await setImmediate();
}

export function device(name: string, change: Partial<Device> = {}): Device {
  return {
    name,
    ifindex: WAN,
    uppers: [],
    isPort: false,
    hidesTags: false,
    isEthernet: true,
    ...change,
  };
}

export function desired(policies: readonly Policy[], { version = '' } = {}): Desired {
  return {
    generation: 1,
    policies: new Map(policies.map((policy) => [policy.target, policy])),
    sourceSets: { version, sets: { 'country:AA': ['192.0.2.0/24'] } },
    settings: {
      name: 'edge',
      site: 'lab',
      devices: ['wan'],
      management: [],
      sees: 'both',
      fragments: 'reassemble',
    },
  };
}

export function refused(target: string, goodGeneration: number): RefusedTarget {
  return { target, reason: 'it is refused', goodGeneration };
}

export function flowTo(local: string, localPort: number): Flow {
  const bytes = (address: string): Buffer => Buffer.from(address.split('.').map(Number));
  return {
    family: 4,
    protocol: 17,
    local: bytes(local),
    remote: bytes('192.0.2.9'),
    localPort,
    remotePort: 5353,
  };
}

export async function packetsOf(early: EarlyDrop): Promise<Record<string, number>> {
  const { entries } = await early.read();
  return Object.fromEntries(entries.map(({ target, packets }) => [target, packets]));
}
