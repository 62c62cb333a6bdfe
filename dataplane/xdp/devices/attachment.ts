import {
  type AttachType,
  closeDescriptor,
  createLink,
  type Descriptor,
  detachLink,
  linkDevice,
  updateLink,
} from '../../kernel/bpf/bpf.ts';
import { SystemError } from '../../kernel/native.ts';
import { attachFilter, detachFilter, type Direction, hasFilter } from '../../kernel/netlink/tc.ts';
import type { Pins } from './pins.ts';

/** A program at one hook of one device. */
export interface Attachment {
  /** The program outlives the agent. */
  readonly pinned: boolean;
  /** Replaces the program in one step. Throws `SystemError` if the device is gone. */
  update(program: Descriptor): void;
  alive(): boolean;
  detach(): void;
  /** The program stays attached if it is pinned. */
  close(): void;
}

/** How programs are attached to tc. Links can be identified as ours. Kernels before 6.6 support only filters. */
export type TcMethod = 'link' | 'filter';
/** In order of preference. */
export const TC_METHODS: readonly TcMethod[] = ['link', 'filter'];

interface TcPlace {
  readonly ifindex: number;
  readonly direction: Direction;
  readonly pins: Pins;
  /** The name of the pin of a link. */
  readonly pin: string;
}

/** Attaches by the first method that this kernel supports. Throws the error of the last one. */
export function attachTc(
  place: TcPlace,
  program: Descriptor,
  methods: readonly TcMethod[],
): Attachment {
  let failure: unknown = new Error('no method is given');
  for (const method of methods) {
    try {
      return method === 'link' ? linkTc(place, program) : filterTc(place, program);
    } catch (error) {
      if (!(error instanceof SystemError)) throw error;
      failure = error;
    }
  }
  throw failure;
}

const LINK_TYPES: Readonly<Record<Direction, AttachType>> = {
  ingress: 'tcxIngress',
  egress: 'tcxEgress',
};

function linkTc({ ifindex, direction, pins, pin }: TcPlace, program: Descriptor): Attachment {
  const link = createLink(program, ifindex, LINK_TYPES[direction], null);
  return linkAttachment(link, pins, pin, pins.put(pin, link));
}

function filterTc({ ifindex, direction }: TcPlace, program: Descriptor): Attachment {
  attachFilter(ifindex, direction, program);
  return filterAttachment(ifindex, direction);
}

export function linkAttachment(
  link: Descriptor,
  pins: Pins,
  pin: string,
  pinned: boolean,
): Attachment {
  return {
    pinned,
    update: (program) => updateLink(link, program),
    alive: () => linkDevice(link) !== 0,
    detach: () => {
      pins.remove(pin);
      detachLink(link);
    },
    close: () => closeDescriptor(link),
  };
}

/** Takes over the pinned link of an earlier agent, or removes the pin if its device is gone. */
export function adoptLink(pins: Pins, pin: string, ifindex: number): Attachment | null {
  const link = pins.adopt(pin, (one) => linkDevice(one) === ifindex);
  return link === null ? null : linkAttachment(link, pins, pin, true);
}

/** A filter outlives the agent without a pin. */
export function filterAttachment(ifindex: number, direction: Direction): Attachment {
  return {
    pinned: true,
    update: (program) => attachFilter(ifindex, direction, program),
    alive: () => hasFilter(ifindex, direction),
    detach: () => detachFilter(ifindex, direction),
    close: () => {},
  };
}
