import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** A TCP connection that is read by the byte. */
export class Tcp {
  readonly #socket: Socket;
  readonly #arrived: AsyncIterator<Buffer>;
  #rest = Buffer.alloc(0);

  static async open(host: string, port: number): Promise<Tcp> {
    const socket = connect({ host, port, noDelay: true });
    await once(socket, 'connect');
    return new Tcp(socket);
  }

  private constructor(socket: Socket) {
    this.#socket = socket;
    this.#arrived = socket[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  }

  write(bytes: Buffer): void {
    this.#socket.write(bytes);
  }

  /** Exactly so many; rejects when the server closes before. */
  async read(count: number): Promise<Buffer> {
    while (this.#rest.length < count) {
      const { value, done } = await this.#arrived.next();
      if (done === true) throw new Error(`closed by the server after ${this.#rest.length} bytes`);
      this.#rest = Buffer.concat([this.#rest, value]);
    }
    const read = this.#rest.subarray(0, count);
    this.#rest = this.#rest.subarray(count);
    return read;
  }

  close(): void {
    this.#socket.destroy();
  }
}
