import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';

const AGAIN_MS = 500;

/** A UDP socket that talks with one server. */
export class Udp {
  readonly #socket: Socket;
  readonly #arrived: Buffer[] = [];
  #waiting: PromiseWithResolvers<void> | null = null;

  static async open(host: string, port: number): Promise<Udp> {
    const socket = createSocket('udp4');
    socket.connect(port, host);
    await once(socket, 'connect');
    return new Udp(socket);
  }

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('message', (message) => {
      this.#arrived.push(message);
      this.#waiting?.resolve();
    });
    // Refused while the server is not there yet: the answer that never comes says so.
    socket.on('error', () => undefined);
  }

  send(packet: Buffer): void {
    this.#socket.send(packet);
  }

  /** The next datagram of which `pick` makes something. */
  async receive<T>(pick: (packet: Buffer) => T | null): Promise<T> {
    for (;;) {
      for (
        let packet = this.#arrived.shift();
        packet !== undefined;
        packet = this.#arrived.shift()
      ) {
        const picked = pick(packet);
        if (picked !== null) return picked;
      }
      this.#waiting = Promise.withResolvers();
      await this.#waiting.promise;
    }
  }

  /** Sends until something comes of which `pick` makes something, as clients do: datagrams get lost. */
  async ask<T>(packet: Buffer, pick: (packet: Buffer) => T | null): Promise<T> {
    this.send(packet);
    const again = setInterval(() => this.send(packet), AGAIN_MS);
    try {
      return await this.receive(pick);
    } finally {
      clearInterval(again);
    }
  }

  close(): void {
    this.#socket.close();
  }
}
