import type { Packet } from '@portcullis/core/firewall/packet.ts';
import { frameOf, udpPacket } from '@portcullis/dataplane/testing/frames.ts';
import { deviceName, readDevice } from '@portcullis/dataplane/xdp/devices/device.ts';
import type { EarlyDropDriver } from '@portcullis/dataplane/xdp/driver/driver.ts';
import { EarlyDrop } from '@portcullis/dataplane/xdp/early-drop.ts';
import { createKernelDriver } from '@portcullis/dataplane/xdp/driver/kernel-driver.ts';
import { driverWithin } from '../../driver-within.ts';
import type { Namespace, Network } from '../../stack/netns.ts';

const DEVICE = 'wan';
const TCP = 6;
const SYN = 0x02;

/** An agent's early drop, run in this process on a device of another namespace. */
export class EarlyDropIn extends EarlyDrop {
  readonly #driver: EarlyDropDriver;

  static on(network: Network, namespace: Namespace): EarlyDropIn {
    const other = network.create('outside');
    network.join(namespace, { device: DEVICE, addresses: [] }, other, {
      device: 'eth0',
      addresses: [],
    });
    return new EarlyDropIn(namespace, driverWithin(namespace, createKernelDriver({ pins: '' })));
  }

  private constructor(namespace: Namespace, driver: EarlyDropDriver) {
    super({
      driver,
      readDevice: (name) => {
        const device = namespace.within(() => readDevice(name));
        // The rest is read from /sys, which shows the namespace of the process.
        const plain = { uppers: [], isPort: false, hidesTags: false, isEthernet: true };
        return device === null ? null : { ...device, ...plain };
      },
      deviceName: (ifindex) => namespace.within(() => deviceName(ifindex)),
      listDevices: () => [DEVICE],
      // No traffic here.
      openFlows: async () => true,
      remember: () => ({ tcp: 600, udp: 600, other: 600 }),
      forwarding: null,
      log: { debug() {}, info() {}, warn() {}, error() {} },
    });
    this.#driver = driver;
  }

  /** Whether a connection to the port passes it. */
  passes(address: string, port: number): boolean {
    const packet: Packet = { ...udpPacket('192.0.2.9', address, port), protocol: TCP };
    return this.#driver.evaluate(frameOf(packet, { flags: SYN }), 1) === 'pass';
  }
}
