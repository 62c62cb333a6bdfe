import { dumpOf } from './dump.ts';
import { NETLINK, NetlinkSocket } from './netlink.ts';
import { attributesOf, encodeMessage, FLAG, textAttribute } from './netlink-message.ts';
import { SystemError } from '../native.ts';

/** Source of all numbers: include/uapi/linux/{genetlink,netdev}.h. */
const CONTROL = { family: 16, getFamily: 3, familyId: 1, familyName: 2 } as const;
const DEVICE = { get: 1, ifindex: 1, features: 3 } as const;
const TRANSMITS = 4n;
const HEADER_BYTES = 4;

/** Indexes of the devices that take frames from XDP programs of other devices. Since Linux 6.3; throws `SystemError`. */
export function xdpTransmitters(): Set<number> {
  const found = new Set<number>();
  for (const { payload } of dumpOf(NETLINK.generic, familyId(), commandOf(DEVICE.get))) {
    const attributes = attributesOf(payload, HEADER_BYTES);
    const features = attributes.get(DEVICE.features)?.readBigUInt64LE(0) ?? 0n;
    const ifindex = attributes.get(DEVICE.ifindex)?.readUInt32LE(0);
    if (ifindex !== undefined && (features & TRANSMITS) !== 0n) found.add(ifindex);
  }
  return found;
}

let family: number | null = null;

/** The number of the family `netdev`, which never changes while the kernel runs. */
function familyId(): number {
  family ??= readFamilyId();
  return family;
}

function readFamilyId(): number {
  const socket = new NetlinkSocket(NETLINK.generic);
  try {
    const sequence = socket.nextSequence();
    const name = textAttribute(CONTROL.familyName, 'netdev');
    const header = commandOf(CONTROL.getFamily);
    socket.send(encodeMessage(CONTROL.family, FLAG.request, sequence, header, name));
    const answer = socket.drain().find((message) => message.sequence === sequence);
    if (answer === undefined) throw new Error('the kernel does not answer about generic netlink');
    if (answer.error !== null) throw new SystemError('look up netdev', answer.error);
    const id = attributesOf(answer.payload, HEADER_BYTES).get(CONTROL.familyId);
    if (id === undefined) throw new Error('a family of generic netlink has no number');
    return id.readUInt16LE(0);
  } finally {
    socket.close();
  }
}

/** struct genlmsghdr: command, version, reserved. */
function commandOf(command: number): Buffer {
  return Buffer.from([command, 1, 0, 0]);
}
