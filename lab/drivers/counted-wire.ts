import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { openCounterReader } from '@portcullis/dataplane/nftables/elements/counter-reader.ts';
import { frameOf, udpPacket } from '@portcullis/dataplane/testing/frames.ts';
import { readDevice } from '@portcullis/dataplane/xdp/devices/device.ts';
import { type Namespace, Network } from '../stack/netns.ts';
import { eventually } from '../system/stack-fixture.ts';

const SEND = join(import.meta.dirname, '..', 'differential', 'send.py');
/** Where frames of dataplane/testing/frames.ts go. */
const MAC = '02:00:00:00:00:01';
/** Source of the last frame: all frames sent before it have been counted. */
const LAST_MAC = '02:00:00:00:00:03';
const OBSERVER = `table inet observer {
  counter arrived { }
  chain enter {
    type filter hook prerouting priority -600;
    ether saddr ${LAST_MAC} counter name arrived
  }
}
`;
const ETHERNET_BYTES = 14;

/** A device of an edge that receives frames in order; frames that pass are observed on arrival. */
export class CountedWire {
  readonly edge: Namespace;
  readonly device: string;
  readonly ifindex: number;
  readonly #network: Network;
  readonly #outside: Namespace;
  #arrived = 0;

  /** `tc`: a device whose driver takes no XDP programs. */
  constructor(label: string, kind: 'native' | 'tc') {
    this.#network = new Network(label);
    this.edge = this.#network.create('edge');
    this.#outside = this.#network.create('outside');
    const under = { device: 'under', addresses: [] };
    this.#network.join(this.edge, under, this.#outside, { device: 'eth', addresses: [] });
    this.device = kind === 'native' ? 'under' : 'wan';
    if (kind === 'tc') {
      const macvlan = ['type', 'macvlan', 'mode', 'passthru'];
      this.edge.run('ip', 'link', 'add', 'link', 'under', 'name', 'wan', ...macvlan);
    }
    this.edge.run('ip', 'link', 'set', this.device, 'address', MAC, 'up');
    execFileSync('ip', ['netns', 'exec', this.edge.name, 'nft', '-f', '-'], { input: OBSERVER });
    const ifindex = this.edge.within(() => readDevice(this.device)?.ifindex);
    assert.ok(ifindex !== undefined);
    this.ifindex = ifindex;
  }

  /** Resolves when all frames have been processed, whatever their verdict. */
  async send(frames: readonly Buffer[]): Promise<void> {
    const all = [...frames, LAST];
    const input = Buffer.concat(all.flatMap((frame) => [lengthOf(frame), checked(frame)]));
    const [program, ...args] = this.#outside.command('python3', SEND, 'eth');
    execFileSync(program, args, { input });
    this.#arrived++;
    const reader = this.edge.within(() => openCounterReader('observer'));
    try {
      const arrived = async () => (await reader.named())?.get('arrived')?.packets === this.#arrived;
      await eventually('all that was sent arrives', arrived);
    } finally {
      reader.close();
    }
  }

  destroy(): void {
    this.#network.destroy();
  }
}

const LAST = Buffer.from(frameOf(udpPacket('192.0.2.1', '192.0.2.2', 9)));
Buffer.from(LAST_MAC.replaceAll(':', ''), 'hex').copy(LAST, 6);

function lengthOf(frame: Buffer): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(frame.length);
  return length;
}

/** Adds the IPv4 header checksum, which hosts require. */
function checked(frame: Buffer): Buffer {
  if (frame.readUInt16BE(12) !== 0x0800) return frame;
  const whole = Buffer.from(frame);
  const header = whole.subarray(ETHERNET_BYTES, ETHERNET_BYTES + 20);
  let sum = 0;
  for (let at = 0; at < 20; at += 2) sum += header.readUInt16BE(at);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  header.writeUInt16BE(~sum & 0xffff, 10);
  return whole;
}
