import type { KoffiFunc } from 'koffi';
import { type Arrivals, onArrival } from './socket-signals.ts';
import { errno, libc, SystemError } from '../native.ts';
import { type Message, messagesOf } from './netlink-message.ts';

/** Netlink protocols that the edge uses. Source: include/uapi/linux/netlink.h. */
export const NETLINK = { route: 0, xfrm: 6, netfilter: 12, generic: 16 } as const;

const AF_NETLINK = 16;
const SOCK_RAW = 3;
const SOCK_NONBLOCK = 0x800;
const SOCK_CLOEXEC = 0x80000;
const EAGAIN = 11;
const MSG_DONTWAIT = 0x40;
/** `recv` returns the full length of a datagram even if the buffer was shorter. */
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
/** The kernel limits datagrams of a dump to 32 KiB (netlink_dump). */
const RECEIVE_BYTES = 65_536;
/** The time that a dump runs before it yields. */
const YIELD_AFTER_MS = 1;
/** More than a dump of four million entries takes. */
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
  /** Awaited at each yield and at the end. */
  readonly between?: () => Promise<void>;
  /** Reads on another thread: the kernel may take long between two messages, because it skips most entries. */
  readonly offThread?: boolean;
}

/** Wraps a call that runs on another thread. */
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

/** Throws `NativeUnavailable` without a libc. */
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
 * A netlink socket of the network namespace that this thread is in when it is opened. Calls do not block: the kernel
 * handles a message inside `send`, and its answers can be read when that returns.
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
    // Exceeds the host's limits, which needs CAP_NET_ADMIN like most requests.
    this.#set(SOL_SOCKET, SO_SNDBUFFORCE, bufferBytes);
    this.#set(SOL_SOCKET, SO_RCVBUFFORCE, bufferBytes);
  }

  /** Distinguishes answers from those of earlier requests. */
  nextSequence(): number {
    this.#sequence = (this.#sequence + 1) >>> 0 || 1;
    return this.#sequence;
  }

  /** Throws `SystemError`. The result of each message is in the answers. */
  send(bytes: Uint8Array): void {
    this.#checked('send', this.#calls.send(this.#fd, bytes, bytes.length, 0));
  }

  /** Sends large messages on another thread, because the kernel may take long. One call at a time. */
  async sendLarge(bytes: Uint8Array): Promise<void> {
    if (bytes.length > LARGE_BYTES) return this.#sendOffThread(bytes);
    this.send(bytes);
  }

  async #sendOffThread(bytes: Uint8Array): Promise<void> {
    const { send } = this.#calls;
    const sent = await promisified((done) => send.async(this.#fd, bytes, bytes.length, 0, done));
    // Nothing was sent, and errno is only known on the other thread: send again to get the error here.
    if (sent < 0) this.send(bytes);
  }

  /** Like `receive`, on another thread. */
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
   * Returns one datagram, valid until the next call, or null. Throws `SystemError`: `ENOBUFS` if messages were lost
   * because the buffer was full.
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

  /** Reads everything that is available. The messages are copies. */
  drain(): Message[] {
    const messages: Message[] = [];
    for (let datagram = this.receive(); datagram !== null; datagram = this.receive()) {
      messages.push(...messagesOf(Buffer.from(datagram)));
    }
    return messages;
  }

  /**
   * Requests a dump and passes its messages to `take`; they are valid only during that call. Yields to other work.
   * Resolves to false if the kernel reports that the data changed during the dump.
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

  /**
   * Calls `read` this many milliseconds after multicast messages arrived, until the socket is closed. See
   * `onArrival`.
   */
  onArrival(settleMs: number, read: () => void): void {
    this.#arrivals?.stop();
    this.#arrivals = onArrival(this.#fd, settleMs, read);
  }

  /** Joins a multicast group. */
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
