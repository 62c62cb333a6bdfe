import { SystemError } from '../native.ts';
import { NetlinkSocket } from './netlink.ts';
import { encodeMessage, FLAG, type Message } from './netlink-message.ts';

/** Requests a dump of a few objects and returns its messages. Throws `SystemError` or `NativeUnavailable`. */
export function dumpOf(
  protocol: number,
  type: number,
  header: Uint8Array,
  ...attributes: readonly Uint8Array[]
): Message[] {
  const socket = new NetlinkSocket(protocol);
  try {
    const sequence = socket.nextSequence();
    socket.send(encodeMessage(type, FLAG.request | FLAG.dump, sequence, header, ...attributes));
    const messages = socket.drain().filter((message) => message.sequence === sequence);
    const failed = messages.find(({ error }) => error !== null && error !== 0);
    if (failed?.error) throw new SystemError('dump', failed.error);
    return messages.filter(({ error }) => error === null);
  } finally {
    socket.close();
  }
}
