import { countPrograms } from '../../kernel/bpf/bpf.ts';
import { takesVlanTags } from '../../kernel/ethtool.ts';
import { dumpOf } from '../../kernel/netlink/dump.ts';
import { NETLINK } from '../../kernel/netlink/netlink.ts';
import { attribute, attributesOf, textOf } from '../../kernel/netlink/netlink-message.ts';
import { xdpTransmitters } from '../../kernel/netlink/xdp-features.ts';
import type { Hook } from '../devices/links.ts';
import type { AnswerDevice, ForwardPort } from '../driver/driver.ts';

/** The devices that packets may be forwarded between, and why others are none. */
export interface Ports {
  readonly ports: readonly ForwardPort[];
  /** The devices that answers may enter by. They are no entries of `ports` until they have a program. */
  readonly answers: readonly AnswerDevice[];
  /** Why a device is no entry or no exit, by index. */
  readonly entryObstacles: ReadonlyMap<number, string>;
  readonly exitObstacles: ReadonlyMap<number, string>;
}

/** The properties of a device that decide whether forwarded packets may enter or leave by it. */
export interface PortFacts {
  readonly ifindex: number;
  readonly name: string;
  readonly mac: Buffer | null;
  /** The kind of a virtual device, such as `veth` and `bridge`; empty otherwise. */
  readonly kind: string;
  /** Such as `pci`; empty without one. */
  readonly bus: string;
  readonly isUp: boolean;
  readonly hasMaster: boolean;
  readonly hasUppers: boolean;
  readonly hidesTags: boolean;
  /** Takes frames from XDP programs. */
  readonly transmits: boolean;
  /** Has another queueing discipline than the kernel gives it. */
  readonly hasQdisc: boolean;
  /** Filters of tc, or programs of others, see the packets that enter or leave. */
  readonly filtersEntering: boolean;
  readonly filtersLeaving: boolean;
}

/** Returns null if packets may enter by the device and be forwarded at that hook. Pure. */
export function entryObstacle(facts: PortFacts, hook: Hook): string | null {
  const { hasUppers, hidesTags, filtersEntering, name } = facts;
  if (hasUppers) return 'there are devices on top of it';
  if (hidesTags && hook === 'native')
    return `the card removes VLAN tags: ethtool -K ${name} rxvlan off`;
  if (filtersEntering) return 'filters of tc see its packets';
  return deviceObstacle(facts);
}

/** Returns null if packets may leave by the device. Pure. */
export function exitObstacle(facts: PortFacts): string | null {
  const { transmits, hasQdisc, filtersLeaving, kind } = facts;
  const other = deviceObstacle(facts);
  if (other !== null) return other;
  if (!transmits && kind === 'veth')
    return 'it takes no frames from XDP: ethtool -K PEER gro on, for its other end';
  if (!transmits) return 'its driver takes no frames from XDP';
  if (hasQdisc) return 'it has a queueing discipline of its own';
  return filtersLeaving ? 'filters of tc see its packets' : null;
}

/**
 * The hooks at which answers that enter by the device may be forwarded; null if they may not. Containers leave to a card
 * what only the network stack finishes, and XDP would cost a veth the speed of TCP. Pure.
 */
export function answerHooks(facts: PortFacts): readonly Hook[] | null {
  if (entryObstacle(facts, 'tc') !== null) return null;
  return facts.kind === 'veth' || facts.hidesTags ? ['tc'] : ['native', 'tc'];
}

function deviceObstacle({ kind, mac, isUp, hasMaster }: PortFacts): string | null {
  if (!PLAIN_KINDS.includes(kind)) return `it is a ${kind}`;
  if (mac === null) return 'its packets have no Ethernet header';
  if (hasMaster) return 'it belongs to another device';
  return isUp ? null : 'it is down';
}

/** Cards, and the devices of containers. */
const PLAIN_KINDS: readonly string[] = ['', 'veth'];

/** Buses of cards that hand on no unfinished checksum while an XDP program is attached. */
const FINISHED: readonly string[] = ['pci', 'usb', 'virtio'];

/** Plans the ports. `entries`: the hooks of the early drop on named devices. Pure. */
export function planPorts(
  devices: readonly PortFacts[],
  entries: ReadonlyMap<number, Hook>,
): Ports {
  const entryObstacles = new Map<number, string>();
  const exitObstacles = new Map<number, string>();
  const answers: AnswerDevice[] = [];
  const ports = devices.flatMap((facts): ForwardPort[] => {
    const { ifindex, mac, bus } = facts;
    const hook = entries.get(ifindex);
    const noEntry = hook === undefined ? 'it has no program' : entryObstacle(facts, hook);
    const noExit = exitObstacle(facts);
    const isTcExit = exitObstacle({ ...facts, transmits: true }) === null;
    if (noEntry !== null) entryObstacles.set(ifindex, noEntry);
    if (noExit !== null) exitObstacles.set(ifindex, noExit);
    const hooks = hook === undefined ? answerHooks(facts) : null;
    if (hooks !== null) answers.push({ ifindex, hooks });
    if (mac === null || (noEntry !== null && !isTcExit && hooks === null)) return [];
    const needsChecks = !FINISHED.includes(bus);
    const [isEntry, isExit] = [noEntry === null, noExit === null];
    return [{ ifindex, mac, isEntry, isExit, isTcExit, needsChecks }];
  });
  return { ports, answers, entryObstacles, exitObstacles };
}

/** Source of all numbers: include/uapi/linux/{rtnetlink,if_link,if_arp,pkt_sched}.h. */
const [GET_LINK, GET_QDISC] = [18, 38] as const;
const LINK_HEADER_BYTES = 16;
const LINK = {
  address: 1,
  name: 3,
  master: 10,
  info: 18,
  extendedMask: 29,
  bus: 57,
} as const;
const INFO_KIND = 1;
const ETHERNET = 1;
const IS_UP = 1;
const SKIP_STATISTICS = 8;
const MAC_BYTES = 6;
const QDISC_HEADER_BYTES = 20;
const [ROOT, CLSACT] = [0xffff_ffff, 0xffff_fff1] as const;
/** Our program that watches what leaves. */
const OUR_EGRESS = 1;

/** The hooks of our programs, by the index of the device. */
export interface OurHooks {
  readonly entries: ReadonlyMap<number, Hook>;
  readonly answering: ReadonlyMap<number, Hook>;
}

/** Reads all devices. `hasUppers`: by name. Throws `SystemError` if this kernel cannot tell. */
export function readPortFacts(
  { entries, answering }: OurHooks,
  hasUppers: (name: string) => boolean,
): PortFacts[] {
  const transmitters = xdpTransmitters();
  const { shaped, filtered } = readQdiscs();
  const mask = Buffer.alloc(4);
  mask.writeUInt32LE(SKIP_STATISTICS, 0);
  const header = Buffer.alloc(LINK_HEADER_BYTES);
  const links = dumpOf(NETLINK.route, GET_LINK, header, attribute(LINK.extendedMask, mask));
  return links.map(({ payload }): PortFacts => {
    const attributes = attributesOf(payload, LINK_HEADER_BYTES);
    const ifindex = payload.readInt32LE(4);
    const name = textOf(attributes.get(LINK.name)) ?? '';
    const info = attributes.get(LINK.info);
    const address = attributes.get(LINK.address);
    const isEthernet = payload.readUInt16LE(2) === ETHERNET && address?.length === MAC_BYTES;
    const kind = info === undefined ? '' : (textOf(attributesOf(info).get(INFO_KIND)) ?? '');
    const mayEnter = entries.has(ifindex) || (isEthernet && PLAIN_KINDS.includes(kind));
    const ours = (entries.get(ifindex) ?? answering.get(ifindex)) === 'tc' ? 1 : 0;
    return {
      ifindex,
      name,
      mac: isEthernet ? Buffer.from(address) : null,
      kind,
      bus: textOf(attributes.get(LINK.bus)) ?? '',
      isUp: (payload.readUInt32LE(8) & IS_UP) !== 0,
      hasMaster: attributes.has(LINK.master),
      hasUppers: mayEnter && hasUppers(name),
      hidesTags: mayEnter && takesVlanTags(name),
      transmits: transmitters.has(ifindex),
      hasQdisc: shaped.has(ifindex),
      filtersEntering: filtered.has(ifindex) || countPrograms(ifindex, 'tcxIngress') > ours,
      filtersLeaving: filtered.has(ifindex) || countPrograms(ifindex, 'tcxEgress') > OUR_EGRESS,
    };
  });
}

/** Default disciplines have no handle. Filters of tc belong to clsact or ingress. */
function readQdiscs(): { readonly shaped: Set<number>; readonly filtered: Set<number> } {
  const shaped = new Set<number>();
  const filtered = new Set<number>();
  for (const { payload } of dumpOf(NETLINK.route, GET_QDISC, Buffer.alloc(QDISC_HEADER_BYTES))) {
    const ifindex = payload.readInt32LE(4);
    const parent = payload.readUInt32LE(12);
    if (parent === CLSACT) filtered.add(ifindex);
    else if (parent === ROOT && payload.readUInt32LE(8) !== 0) shaped.add(ifindex);
  }
  return { shaped, filtered };
}
