import type { Descriptor } from '../bpf/bpf.ts';
import { SystemError } from '../native.ts';
import { NETLINK, NetlinkSocket } from './netlink.ts';
import { encodeMessage, FLAG, nested, textAttribute, u32Attribute } from './netlink-message.ts';

/**
 * Attaches a BPF program to the packets of a device on kernels before 6.6: as a filter of the qdisc clsact. The filter
 * outlives the process and is recognised by its priority. Source of all numbers:
 * include/uapi/linux/{rtnetlink,pkt_sched,pkt_cls}.h.
 */
const RTM = { newQdisc: 36, newFilter: 44, deleteFilter: 45, getFilter: 46 } as const;
const TC_H_CLSACT = 0xffff_fff1;
const CLSACT_HANDLE = 0xffff_0000;
export type Direction = 'ingress' | 'egress';
const PARENTS: Readonly<Record<Direction, number>> = { ingress: 0xffff_fff2, egress: 0xffff_fff3 };
const ETH_P_ALL = 0x0300;
/** `pc`. */
const PRIORITY = 0x7063;
const HANDLE = 1;
const PROGRAM_NAME = 'portcullis';
const TCA = { kind: 1, options: 2 } as const;
const TCA_BPF = { fd: 6, name: 7, flags: 8 } as const;
const ACT_DIRECT = 1;

/** Replaces our existing filter in one step. Throws `SystemError`. */
export function attachFilter(ifindex: number, direction: Direction, program: Descriptor): void {
  const qdisc = { ifindex, handle: CLSACT_HANDLE, parent: TC_H_CLSACT, info: 0 };
  request(
    RTM.newQdisc,
    FLAG.create | FLAG.excl,
    qdisc,
    ['EEXIST'],
    [textAttribute(TCA.kind, 'clsact')],
  );
  request(
    RTM.newFilter,
    FLAG.create | FLAG.replace,
    filterOn(ifindex, direction),
    [],
    [
      textAttribute(TCA.kind, 'bpf'),
      nested(
        TCA.options,
        hostOrder(u32Attribute(TCA_BPF.fd, program)),
        textAttribute(TCA_BPF.name, PROGRAM_NAME),
        hostOrder(u32Attribute(TCA_BPF.flags, ACT_DIRECT)),
      ),
    ],
  );
}

export function hasFilter(ifindex: number, direction: Direction): boolean {
  return request(RTM.getFilter, 0, filterOn(ifindex, direction), ABSENT, [
    textAttribute(TCA.kind, 'bpf'),
  ]);
}

/** The qdisc stays, because others may use it. */
export function detachFilter(ifindex: number, direction: Direction): void {
  request(RTM.deleteFilter, 0, filterOn(ifindex, direction), ABSENT, [
    textAttribute(TCA.kind, 'bpf'),
  ]);
}

/** There is no such filter, qdisc or device. */
const ABSENT = ['ENOENT', 'EINVAL', 'ENODEV'];

interface TrafficControl {
  readonly ifindex: number;
  readonly handle: number;
  readonly parent: number;
  readonly info: number;
}

function filterOn(ifindex: number, direction: Direction): TrafficControl {
  return {
    ifindex,
    handle: HANDLE,
    parent: PARENTS[direction],
    info: PRIORITY * 65_536 + ETH_P_ALL,
  };
}

/** Returns false for an expected error. Throws other errors. */
function request(
  type: number,
  flags: number,
  { ifindex, handle, parent, info }: TrafficControl,
  expected: readonly string[],
  attributes: readonly Uint8Array[],
): boolean {
  const header = Buffer.alloc(20);
  header.writeInt32LE(ifindex, 4);
  header.writeUInt32LE(handle, 8);
  header.writeUInt32LE(parent, 12);
  header.writeUInt32LE(info, 16);
  const socket = new NetlinkSocket(NETLINK.route);
  try {
    const sequence = socket.nextSequence();
    socket.send(
      encodeMessage(type, FLAG.request | FLAG.ack | flags, sequence, header, ...attributes),
    );
    for (const { error } of socket.drain()) {
      if (error === null || error === 0) continue;
      const failure = new SystemError('traffic control', error);
      if (!expected.includes(failure.code)) throw failure;
      return false;
    }
    return true;
  } finally {
    socket.close();
  }
}

/** rtnetlink uses host byte order, nfnetlink uses network byte order. */
function hostOrder(attribute: Buffer): Buffer {
  attribute.subarray(4).reverse();
  return attribute;
}
