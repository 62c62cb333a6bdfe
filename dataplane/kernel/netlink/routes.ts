import { type Family } from '@portcullis/core/net/address.ts';
import { NETLINK, NetlinkSocket } from './netlink.ts';
import { attribute, attributesOf, encodeMessage, FLAG } from './netlink-message.ts';
import { SystemError } from '../native.ts';

/** Source of all numbers: include/uapi/linux/rtnetlink.h. */
const [NEW_ROUTE, GET_ROUTE] = [24, 26] as const;
const [DESTINATION, DEVICE] = [1, 4] as const;
const ROUTE_HEADER_BYTES = 12;
const AF: Readonly<Record<Family, number>> = { 4: 2, 6: 10 };

/** Route look-ups in the kernel. */
export interface Routes {
  /**
   * Returns the index of the device by which packets to an address (in network order) leave, or null. Throws
   * `SystemError`.
   */
  deviceTo(family: Family, address: Buffer): number | null;
  close(): void;
}

/** Uses the network namespace that this thread is in. Throws `SystemError` or `NativeUnavailable`. */
export function openRoutes(): Routes {
  const socket = new NetlinkSocket(NETLINK.route);
  return {
    deviceTo: (family, address) => {
      const header = Buffer.alloc(ROUTE_HEADER_BYTES);
      header[0] = AF[family];
      header[1] = address.length * 8;
      const sequence = socket.nextSequence();
      const to = attribute(DESTINATION, address);
      socket.send(encodeMessage(GET_ROUTE, FLAG.request, sequence, header, to));
      const answer = socket.drain().find((message) => message.sequence === sequence);
      if (answer === undefined) throw new Error('the kernel does not answer about a route');
      // There is no route: unreachable, prohibited, or not a unicast address.
      if (answer.error !== null) return refusedRoute(answer.error);
      if (answer.type !== NEW_ROUTE) return null;
      return attributesOf(answer.payload, ROUTE_HEADER_BYTES).get(DEVICE)?.readUInt32LE(0) ?? null;
    },
    close: () => socket.close(),
  };
}

function refusedRoute(number: number): null {
  const failure = new SystemError('look up a route', number);
  if (failure.code === 'EPERM' || failure.code === 'ENOBUFS') throw failure;
  return null;
}
