import { addressOf, errno, libc, SystemError } from '@portcullis/dataplane/kernel/native.ts';

const AF_PACKET = 17;
const SOCK_RAW = 3;
/** `struct mmsghdr` and `struct iovec` of 64-bit Linux: recvmmsg(2), iovec(3type). */
const HEADER_BYTES = 64;
const IOVEC_AT = 16;
const IOVEC_COUNT_AT = 24;
const VECTOR_BYTES = 16;
/** The kernel sends no more at once. */
const MAX_MESSAGES = 1024;

type Call<T extends unknown[]> = (...args: T) => number;

/** Frames that are sent over and over, laid out as the kernel wants them. */
export class FrameRing {
  readonly frames: readonly Buffer[];
  readonly headers: Buffer;
  readonly #vectors: Buffer;

  constructor(frames: readonly Buffer[]) {
    // Of `Buffer.alloc`, whose memory does not move.
    this.frames = frames.map((frame) => Buffer.alloc(frame.length, frame));
    this.headers = Buffer.alloc(HEADER_BYTES * frames.length);
    this.#vectors = Buffer.alloc(VECTOR_BYTES * frames.length);
    const vectorsAt = addressOf(this.#vectors);
    this.frames.forEach((frame, index) => {
      this.#vectors.writeBigUInt64LE(addressOf(frame), index * VECTOR_BYTES);
      this.#vectors.writeBigUInt64LE(BigInt(frame.length), index * VECTOR_BYTES + 8);
      const at = index * HEADER_BYTES;
      this.headers.writeBigUInt64LE(vectorsAt + BigInt(index * VECTOR_BYTES), at + IOVEC_AT);
      this.headers.writeBigUInt64LE(1n, at + IOVEC_COUNT_AT);
    });
  }
}

/** Sends frames out of a device of the namespace that the thread is in. */
export class PacketSocket {
  readonly #fd: number;
  readonly #sendmmsg: Call<[number, bigint, number, number]>;

  constructor(ifindex: number) {
    const socket = libc().func('int socket(int domain, int type, int protocol)') as Call<number[]>;
    const bind = libc().func('int bind(int fd, const uint8_t *address, uint32_t length)') as Call<
      [number, Uint8Array, number]
    >;
    this.#sendmmsg = libc().func(
      'int sendmmsg(int fd, uintptr_t messages, uint32_t count, int flags)',
    ) as Call<[number, bigint, number, number]>;
    // Of no protocol: it receives nothing.
    this.#fd = socket(AF_PACKET, SOCK_RAW, 0);
    if (this.#fd < 0) throw new SystemError('socket', errno());
    const address = Buffer.alloc(20);
    address.writeUInt16LE(AF_PACKET, 0);
    address.writeInt32LE(ifindex, 4);
    if (bind(this.#fd, address, address.length) < 0) throw new SystemError('bind', errno());
  }

  /** From one frame of the ring on, not beyond its end. Answers how many the device took. */
  send({ headers, frames }: FrameRing, from: number, count: number): number {
    const wanted = Math.min(count, frames.length - from, MAX_MESSAGES);
    const at = addressOf(headers) + BigInt(from * HEADER_BYTES);
    const sent = this.#sendmmsg(this.#fd, at, wanted, 0);
    if (sent >= 0) return sent;
    const failure = new SystemError('sendmmsg', errno());
    // Whoever takes them has no room for more just now.
    if (failure.code === 'ENOBUFS') return 0;
    throw failure;
  }
}
