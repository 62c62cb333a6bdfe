import { NETLINK, NetlinkSocket } from './netlink.ts';
import { attributesOf, encodeMessage, FLAG, type Message, textOf } from './netlink-message.ts';
import { SystemError } from '../native.ts';

/** Source of all numbers: include/uapi/linux/{rtnetlink,if_link}.h. */
const GROUP_LINK = 1;
const [NEW_LINK, DELETE_LINK, GET_LINK] = [16, 17, 18] as const;
const LINK_HEADER_BYTES = 16;
const NAME_ATTRIBUTE = 3;
/** Packets that leave by a new device are not seen until it is watched, so the delay is short. */
const SETTLE_MS = 20;
const BUFFER_BYTES = 1 << 20;
/** Reads before falling back to a list of all devices, when events arrive faster than they are read. */
const MAX_LOSSES = 10;

/** A device of this network namespace. Its index never changes, its name may. */
export type LinkEvent =
  | { readonly kind: 'there' | 'gone'; readonly index: number; readonly name: string }
  | {
      readonly kind: 'renamed';
      readonly index: number;
      readonly name: string;
      readonly before: string;
    };

export interface LinkWatch {
  /** Reports now what has happened: events otherwise arrive after a delay. */
  read(): void;
  stop(): void;
}

/**
 * Reports devices that appear, disappear or are renamed. `stirred` is called also after other changes of a device.
 * Throws `SystemError` or `NativeUnavailable`.
 */
export function watchLinks(
  report: (event: LinkEvent) => void,
  stirred: () => void = () => {},
): LinkWatch {
  const notifications = new NetlinkSocket(NETLINK.route, { bufferBytes: BUFFER_BYTES });
  // A separate socket, so that old events are not mistaken for the list.
  const requests = new NetlinkSocket(NETLINK.route);
  const known = new Map<number, string>();
  notifications.join(GROUP_LINK);
  // Devices that exist already are not reported.
  follow(known, listAll(requests));
  const read = (): void => {
    const messages = readEvents(notifications);
    if (messages?.length === 0) return;
    const events = messages === null ? compare(known, listAll(requests)) : follow(known, messages);
    // What looks at devices afterwards must know their new names.
    for (const event of events) report(event);
    stirred();
  };
  notifications.onArrival(SETTLE_MS, read);
  return {
    read,
    stop: () => {
      notifications.close();
      requests.close();
    },
  };
}

/** The names of all devices of this network namespace. Throws `SystemError` or `NativeUnavailable`. */
export function linkNames(): string[] {
  const requests = new NetlinkSocket(NETLINK.route);
  try {
    return listAll(requests).flatMap((message) => linkOf(message)?.name ?? []);
  } finally {
    requests.close();
  }
}

/** Returns null if events were lost; the remaining ones are then useless. */
function readEvents(events: NetlinkSocket): Message[] | null {
  let lost = false;
  for (let tries = 0; tries < MAX_LOSSES; tries++) {
    try {
      const messages = events.drain();
      return lost ? null : messages;
    } catch (error) {
      if (!(error instanceof SystemError) || error.code !== 'ENOBUFS') throw error;
      lost = true;
    }
  }
  return null;
}

function listAll(requests: NetlinkSocket): Message[] {
  const header = Buffer.alloc(LINK_HEADER_BYTES);
  const flags = FLAG.request | FLAG.dump;
  requests.send(encodeMessage(GET_LINK, flags, requests.nextSequence(), header));
  return requests.drain();
}

/** Compares the known devices with a list of all. */
function compare(known: Map<number, string>, listed: readonly Message[]): LinkEvent[] {
  const present = new Set(listed.flatMap((message) => linkOf(message)?.index ?? []));
  const gone = [...known].filter(([index]) => !present.has(index));
  for (const [index] of gone) known.delete(index);
  return [
    ...gone.map(([index, name]) => ({ kind: 'gone' as const, index, name })),
    ...follow(known, listed),
  ];
}

function follow(known: Map<number, string>, messages: readonly Message[]): LinkEvent[] {
  const events: LinkEvent[] = [];
  for (const message of messages) {
    const link = linkOf(message);
    if (link === null) continue;
    const { index, name } = link;
    const before = known.get(index);
    if (message.type === DELETE_LINK) {
      if (known.delete(index)) events.push({ kind: 'gone', index, name });
    } else if (before === undefined) {
      known.set(index, name);
      events.push({ kind: 'there', index, name });
    } else if (before !== name) {
      known.set(index, name);
      events.push({ kind: 'renamed', index, name, before });
    }
  }
  return events;
}

function linkOf({
  type,
  payload,
}: Message): { readonly index: number; readonly name: string } | null {
  if (type !== NEW_LINK && type !== DELETE_LINK) return null;
  // Bridges report their ports with family AF_BRIDGE. Such events are not about devices.
  if (payload.length < LINK_HEADER_BYTES || payload[0] !== 0) return null;
  const name = textOf(attributesOf(payload, LINK_HEADER_BYTES).get(NAME_ATTRIBUTE));
  return name === null ? null : { index: payload.readInt32LE(4), name };
}
