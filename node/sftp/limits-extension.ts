import type ssh2 from 'ssh2';
import { long, packetOf, text, word } from './packets.ts';

/** The parts of the library's channel that it does not show. */
export interface ChannelInside {
  /** Answers that wait for the client. */
  readonly _buffer: readonly Uint8Array[];
  /** Called when the window of the client opens again. */
  _chunkcb?: (() => void) | undefined;
  _protocol: {
    readonly channelData: (channel: number, packet: Buffer) => void;
    readonly exitStatus: (channel: number, status: number) => void;
  };
  readonly outgoing: { readonly id: number; readonly state: string; window: number };
}

export function insideOf(sftp: ssh2.SFTPWrapper): ChannelInside {
  return sftp as unknown as ChannelInside;
}

/** PROTOCOL of OpenSSH, 4.8: how much a client may ask for at once. Those that do not ask take 32 KiB. */
const NAME = 'limits@openssh.com';
const VERSION_TYPE = 2;
const EXTENDED_REPLY_TYPE = 201;
/** The library's answer to the first packet: its length, its type, and version 3. */
const PLAIN_BYTES = 9;

/** Names the extension in the library's answer to the first packet, which names none. */
export function announceLimits(inside: ChannelInside): void {
  const protocol = inside._protocol;
  const channelData = (channel: number, packet: Buffer): void => {
    inside._protocol = protocol;
    const announced = packetOf(VERSION_TYPE, word(3), text(NAME), text('1'));
    const more = announced.length - packet.length;
    const isWhole = packet.length === PLAIN_BYTES && packet[4] === VERSION_TYPE;
    if (!isWhole || inside.outgoing.window < more) return protocol.channelData(channel, packet);
    inside.outgoing.window -= more;
    protocol.channelData(channel, announced);
  };
  inside._protocol = Object.create(protocol, { channelData: { value: channelData } });
}

export interface RequestLimits {
  readonly packetBytes: number;
  readonly readBytes: number;
  readonly writeBytes: number;
  readonly handles: number;
}

/** Answers a request for the limits. Returns false for another request, and where the answer cannot be sent at once. */
export function answerLimits(
  inside: ChannelInside,
  { id, name }: { readonly id: number; readonly name: string },
  { packetBytes, readBytes, writeBytes, handles }: RequestLimits,
): boolean {
  const { outgoing, _buffer: waiting, _protocol: protocol } = inside;
  const values = [packetBytes, readBytes, writeBytes, handles].map(long);
  const packet = packetOf(EXTENDED_REPLY_TYPE, word(id), ...values);
  const isOpen = outgoing.state === 'open' && outgoing.window > packet.length;
  if (name !== NAME || !isOpen || waiting.length > 0) return false;
  outgoing.window -= packet.length;
  protocol.channelData(outgoing.id, packet);
  return true;
}
