import {
  closeDescriptor,
  createLink,
  type Descriptor,
  detachLink,
  linkDevice,
  updateLink,
} from '../kernel/bpf.ts';
import { SystemError } from '../kernel/native.ts';
import { attachEgressFilter, detachEgressFilter, hasEgressFilter } from '../kernel/tc.ts';
import type { Pins } from './pins.ts';

/** The program that sees what leaves by a device. */
export interface EgressWatch {
  /** In one step. Throws `SystemError` where the device is gone. */
  update(program: Descriptor): void;
  alive(): boolean;
  detach(): void;
  /** Leaves it in force, where it can outlive us. */
  close(): void;
}

export type EgressWay = 'link' | 'filter';
/** Links are pinned and told apart from those of others; kernels before 6.6 only have filters. */
const WAYS: readonly EgressWay[] = ['link', 'filter'];

/** Null: this kernel does not let us see what leaves by this device. */
export function watchEgress(
  ifindex: number,
  program: Descriptor,
  pins: Pins,
  ways: readonly EgressWay[] = WAYS,
): EgressWatch | null {
  for (const way of ways) {
    try {
      if (way === 'filter') attachEgressFilter(ifindex, program, PROGRAM_NAME);
      else return linked(ifindex, createLink(program, ifindex, 'tcxEgress', null), pins, true);
      return filtered(ifindex);
    } catch (error) {
      if (!(error instanceof SystemError)) throw error;
    }
  }
  return null;
}

/** What the agent before left there, if it is still at work. */
export function adoptEgress(ifindex: number, pins: Pins): EgressWatch | null {
  const link = pins.adopt(pinName(ifindex), (one) => linkDevice(one) === ifindex);
  if (link !== null) return linked(ifindex, link, pins, false);
  return hasEgressFilter(ifindex) ? filtered(ifindex) : null;
}

export function pinName(ifindex: number): string {
  return `egress-${ifindex}`;
}

const PROGRAM_NAME = 'portcullis';

function linked(ifindex: number, link: Descriptor, pins: Pins, fresh: boolean): EgressWatch {
  if (fresh) pins.put(pinName(ifindex), link);
  return {
    update: (program) => updateLink(link, program),
    alive: () => linkDevice(link) !== 0,
    detach: () => {
      pins.remove(pinName(ifindex));
      detachLink(link);
    },
    close: () => closeDescriptor(link),
  };
}

function filtered(ifindex: number): EgressWatch {
  return {
    update: (program) => attachEgressFilter(ifindex, program, PROGRAM_NAME),
    alive: () => hasEgressFilter(ifindex),
    detach: () => detachEgressFilter(ifindex),
    close: () => {},
  };
}
