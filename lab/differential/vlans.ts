import {
  closeDescriptor,
  createLink,
  type Descriptor,
} from '@portcullis/dataplane/kernel/bpf/bpf.ts';
import { loadProgram } from '@portcullis/dataplane/kernel/bpf/bpf-program.ts';
import type { Namespace } from '../stack/netns.ts';

/** VLANs that end at the edge; the edge judges what enters by the first, and not what enters by the second. */
export const VLANS = { judged: 7, untouched: 8 } as const;

const INSTRUCTION_BYTES = 8;
/** Offsets in struct __sk_buff of linux/bpf.h. */
const VLAN_PRESENT = 20;
const VLAN_TCI = 24;
const VLAN_ID = 0xfff;
const CALL = { vlanPush: 18, vlanPop: 19, redirect: 23 } as const;
/** ETH_P_8021Q in network byte order, as bpf_skb_vlan_push takes it. */
const TAG_PROTOCOL = 0x0081;
const INGRESS = 1;
/** TCX_NEXT: as if we were not there. */
const LEAVE = -1;

/** opcode, destination and source register, offset, immediate. */
type Instruction = readonly [
  opcode: number,
  to: number,
  from: number,
  offset: number,
  value: number,
];

const move = (to: number, from: number): Instruction => [0xbf, to, from, 0, 0];
const set = (to: number, value: number): Instruction => [0xb7, to, 0, 0, value];
const load = (to: number, from: number, offset: number): Instruction => [0x61, to, from, offset, 0];
const and = (to: number, value: number): Instruction => [0x57, to, 0, 0, value];
const ifEqual = (register: number, value: number, skip: number): Instruction => [
  0x15,
  register,
  0,
  skip,
  value,
];
const call = (helper: number): Instruction => [0x85, 0, 0, 0, helper];
const exit: Instruction = [0x95, 0, 0, 0, 0];

function program(devices: readonly { readonly vlan: number; readonly ifindex: number }[]): Buffer {
  const leave = [set(0, LEAVE), exit];
  const redirect = [
    move(1, 6),
    call(CALL.vlanPop),
    move(1, 8),
    set(2, INGRESS),
    call(CALL.redirect),
    exit,
  ];
  const cases = devices.flatMap(({ vlan, ifindex }, index) => {
    const left = devices.length - index - 1;
    return [set(8, ifindex), ifEqual(7, vlan, 2 * left + leave.length)];
  });
  const all = [
    move(6, 1),
    load(7, 6, VLAN_PRESENT),
    ifEqual(7, 0, 2 + cases.length),
    load(7, 6, VLAN_TCI),
    and(7, VLAN_ID),
    ...cases,
    ...leave,
    ...redirect,
  ];
  return assemble(all);
}

function assemble(all: readonly Instruction[]): Buffer {
  const image = Buffer.alloc(all.length * INSTRUCTION_BYTES);
  for (const [index, [opcode, to, from, offset, value]] of all.entries()) {
    const at = index * INSTRUCTION_BYTES;
    image.writeUInt8(opcode, at);
    image.writeUInt8(to | (from << 4), at + 1);
    image.writeInt16LE(offset, at + 2);
    image.writeInt32LE(value, at + 4);
  }
  return image;
}

/**
 * Does what VLAN devices do, on kernels built without them: what enters by a device with the tag of a VLAN
 * enters, without the tag, by another device. Whatever sees frames before (XDP) sees the tag. Until the answered
 * descriptor is closed.
 */
export function standInForVlans(
  namespace: Namespace,
  device: string,
  vlans: readonly { readonly vlan: number; readonly device: string }[],
): Descriptor {
  const targets = vlans.map(({ vlan, device: to }) => ({ vlan, ifindex: indexOf(namespace, to) }));
  return attach(namespace, device, program(targets), 'tcxIngress');
}

/** Tags everything that leaves by a device, as the VLAN device of a peer would. Until the answered descriptor is closed. */
export function tagFrames(namespace: Namespace, device: string, vlan: number): Descriptor {
  const push = [set(2, TAG_PROTOCOL), set(3, vlan), call(CALL.vlanPush), set(0, LEAVE), exit];
  return attach(namespace, device, assemble(push), 'tcxEgress');
}

function attach(
  namespace: Namespace,
  device: string,
  instructions: Buffer,
  at: 'tcxIngress' | 'tcxEgress',
): Descriptor {
  const ifindex = indexOf(namespace, device);
  return namespace.within(() => {
    const loaded = loadProgram('vlans', { type: 'schedCls', instructions, license: 'GPL' });
    try {
      return createLink(loaded, ifindex, at, null);
    } finally {
      closeDescriptor(loaded);
    }
  });
}

function indexOf(namespace: Namespace, device: string): number {
  return Number(namespace.run('cat', `/sys/class/net/${device}/ifindex`));
}
