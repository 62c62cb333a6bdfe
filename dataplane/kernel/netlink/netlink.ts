import type { KoffiFunc } from 'koffi';
import { type Arrivals, onArrival } from './socket-signals.ts';
import { errno, libc, SystemError } from '../native.ts';
import { type Message, messagesOf } from './netlink-message.ts';

/** Protocols of netlink that the edge speaks. Source: include/uapi/linux/netlink.h. */
export const NETLINK = { route: 0, netfilter: 12 } as const;

const AF_NETLINK = 16;
const SOCK_RAW = 3;
const SOCK_NONBLOCK = 0x800;
const SOCK_CLOEXEC = 0x80000;
const EAGAIN = 11;
const MSG_DONTWAIT = 0x40;
/** `recv` answers the whole length of a datagram also where the buffer was shorter. */
const MSG_TRUNC = 0x20;
const SOL_SOCKET = 1;
const SO_SNDBUFFORCE = 32;
const SO_RCVBUFFORCE = 33;
const SOL_NETLINK = 270;
const NETLINK_ADD_MEMBERSHIP = 1;
const NETLINK_DROP_MEMBERSHIP = 2;
const NETLINK_CAP_ACK = 10;
const NETLINK_EXT_ACK = 11;

const NLMSG_DONE = 3;
/** The kernel makes datagrams of a dump no larger than 32 KiB (netlink_dump). */
const RECEIVE_BYTES = 65_536;
/** Of a dump, before anybody else gets a turn. */
const YIELD_AFTER_MS = 1;
/** A dump of four million entries has fewer. */
const MAX_DATAGRAMS = 200_000;
/** About a thousand elements, a few milliseconds in the kernel. */
const LARGE_BYTES = 65_536;

interface Calls {
  readonly socket: (domain: number, type: number, protocol: number) => number;
  readonly bind: (fd: number, address: Uint8Array, length: number) => number;
  readonly setsockopt: (
    fd: number,
    level: number,
    name: number,
    value: Int32Array,
    n: number,
  ) => number;
  readonly send: KoffiFunc<
    (fd: number, bytes: Uint8Array, length: number, flags: number) => number
  >;
  readonly recv: KoffiFunc<
    (fd: number, bytes: Uint8Array, length: number, flags: number) => number
  >;
  readonly close: (fd: number) => number;
}

interface DumpOptions {
  /** Awaited whenever others get their turn, and at the end. */
  readonly between?: () => Promise<void>;
  /** The kernel may take long between two messages, because it passes over most of what it looks at. */
  readonly offThread?: boolean;
}

/** What a call answers that another thread makes. */
function promisified(
  call: (done: (error: unknown, result: number) => void) => void,
): Promise<number> {
  return new Promise((resolve, reject) => {
    call((error, result) => {
      if (error instanceof Error) reject(error);
      else resolve(result);
    });
  });
}

let calls: Calls | null = null;

/** Throws `NativeUnavailable` where there is no libc to call. */
function libcCalls(): Calls {
  if (calls !== null) return calls;
  const library = libc();
  calls = {
    socket: library.func('int socket(int domain, int type, int protocol)'),
    bind: library.func('int bind(int fd, const uint8_t *address, uint32_t length)'),
    setsockopt: library.func(
      'int setsockopt(int fd, int level, int name, const int *value, uint32_t length)',
    ),
    send: library.func(
      'intptr_t send(int fd, const uint8_t *bytes, size_t length, int flags)',
    ) as Calls['send'],
    recv: library.func(
      'intptr_t recv(int fd, _Out_ uint8_t *bytes, size_t length, int flags)',
    ) as Calls['recv'],
    close: library.func('int close(int fd)'),
  };
  return calls;
}

/**
 * A socket to the kernel of the network namespace that this thread is in when it is opened. Nothing here waits:
 * the kernel does what a message asks for inside `send`, and its answers are there to be read when that returns.
 */
export class NetlinkSocket {
  readonly #calls = libcCalls();
  readonly #fd: number;
  readonly #incoming = Buffer.alloc(RECEIVE_BYTES);
  #sequence = 0;
  #arrivals: Arrivals | null = null;

  /** Throws `SystemError` or `NativeUnavailable`. */
  constructor(protocol: number, { bufferBytes = 0 }: { readonly bufferBytes?: number } = {}) {
    const type = SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC;
    this.#fd = this.#checked('socket', this.#calls.socket(AF_NETLINK, type, protocol));
    const address = Buffer.alloc(12);
    address.writeUInt16LE(AF_NETLINK, 0);
    this.#checked('bind', this.#calls.bind(this.#fd, address, address.length));
    this.#set(SOL_NETLINK, NETLINK_EXT_ACK, 1);
    this.#set(SOL_NETLINK, NETLINK_CAP_ACK, 1);
    if (bufferBytes === 0) return;
    // Beyond the limits of the host: needs CAP_NET_ADMIN, as does all else that we ask for.
    this.#set(SOL_SOCKET, SO_SNDBUFFORCE, bufferBytes);
    this.#set(SOL_SOCKET, SO_RCVBUFFORCE, bufferBytes);
  }

  /** To tell answers apart from those of an earlier question. */
  nextSequence(): number {
    this.#sequence = (this.#sequence + 1) >>> 0 || 1;
    return this.#sequence;
  }

  /** Throws `SystemError`. What becomes of each message is in the answers. */
  send(bytes: Uint8Array): void {
    this.#checked('send', this.#calls.send(this.#fd, bytes, bytes.length, 0));
  }

  /** The same off this thread where it may take the kernel long. One at a time. */
  async sendLarge(bytes: Uint8Array): Promise<void> {
    if (bytes.length > LARGE_BYTES) return this.#sendOffThread(bytes);
    this.send(bytes);
  }

  async #sendOffThread(bytes: Uint8Array): Promise<void> {
    const { send } = this.#calls;
    const sent = await promisified((done) => send.async(this.#fd, bytes, bytes.length, 0, done));
    // Nothing was taken, and its errno stayed on the other thread: hear it on this one.
    if (sent < 0) this.send(bytes);
  }

  /** As `receive`, off this thread. */
  async #receiveOffThread(): Promise<Buffer | null> {
    const { recv } = this.#calls;
    const bytes = this.#incoming;
    const length = await promisified((done) =>
      recv.async(this.#fd, bytes, bytes.length, MSG_DONTWAIT | MSG_TRUNC, done),
    );
    if (length < 0) return this.receive();
    if (length > bytes.length) throw new Error('a netlink datagram is too long');
    return bytes.subarray(0, length);
  }

  /**
   * One datagram, good until the next call; null when there is none. Throws `SystemError`: `ENOBUFS` when the
   * kernel had more to say than there was room for, so that something was lost.
   */
  receive(): Buffer | null {
    const flags = MSG_DONTWAIT | MSG_TRUNC;
    const length = this.#calls.recv(this.#fd, this.#incoming, this.#incoming.length, flags);
    if (length < 0) {
      const number = errno();
      if (number === EAGAIN) return null;
      throw new SystemError('recv', number);
    }
    if (length > this.#incoming.length) throw new Error('a netlink datagram is too long');
    return this.#incoming.subarray(0, length);
  }

  /** All that there is to read now. The messages are copies. */
  drain(): Message[] {
    const messages: Message[] = [];
    for (let datagram = this.receive(); datagram !== null; datagram = this.receive()) {
      messages.push(...messagesOf(Buffer.from(datagram)));
    }
    return messages;
  }

  /**
   * Asks for a dump and hands over its messages, which are good only during that call. Others get their turn
   * meanwhile. Resolves false when the kernel says that what it dumped has
   * changed under it.
   */
  async dump(
    request: (sequence: number) => Uint8Array,
    take: (message: Message) => void,
    { between = async () => {}, offThread = false }: DumpOptions = {},
  ): Promise<boolean> {
    const sequence = this.nextSequence();
    if (offThread) await this.#sendOffThread(request(sequence));
    else this.send(request(sequence));
    let consistent = true;
    let startedMs = performance.now();
    for (let datagrams = 1; datagrams <= MAX_DATAGRAMS; datagrams++) {
      const datagram = offThread ? await this.#receiveOffThread() : this.receive();
      if (datagram === null) throw new Error('a dump of the kernel ended early');
      for (const message of messagesOf(datagram)) {
        if (message.sequence !== sequence) continue;
        if (message.interrupted) consistent = false;
        if (message.error !== null && message.error !== 0) {
          throw new SystemError('dump', message.error);
        }
        if (message.type === NLMSG_DONE) {
          await between();
          return consistent;
        }
        take(message);
      }
      if (performance.now() - startedMs < YIELD_AFTER_MS) continue;
      await between();
      await new Promise<void>((resolve) => setImmediate(resolve));
      startedMs = performance.now();
    }
    throw new Error('a dump of the kernel does not end');
  }

  /** Reads what nobody asked for so many milliseconds after it arrived, until the socket is closed. See `onArrival`. */
  onArrival(settleMs: number, read: () => void): void {
    this.#arrivals?.stop();
    this.#arrivals = onArrival(this.#fd, settleMs, read);
  }

  /** A multicast group: its news come as datagrams that nobody asked for. */
  join(group: number): void {
    this.#set(SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, group);
  }

  leave(group: number): void {
    this.#set(SOL_NETLINK, NETLINK_DROP_MEMBERSHIP, group);
  }

  close(): void {
    this.#arrivals?.stop();
    this.#calls.close(this.#fd);
  }

  #set(level: number, name: number, value: number): void {
    const result = this.#calls.setsockopt(this.#fd, level, name, Int32Array.of(value), 4);
    this.#checked('setsockopt', result);
  }

  #checked(call: string, result: number): number {
    if (result < 0) throw new SystemError(call, errno());
    return result;
  }
}
