import { setTimeout as pause } from 'node:timers/promises';
import { CLIENT, type Internet } from '../stack/internet.ts';
import { TcpEnd } from '../wire/tcp-end.ts';
import { UdpPeer } from '../wire/udp-peer.ts';

/** Where the players' server listens, which is where floods go. */
const GAME = 27_015;
const DATAGRAMS_APART_MS = 50;

/** The fate of the traffic of one player. */
export interface Played {
  readonly sent: number;
  readonly answered: number;
}

/** A server of every address that answers whoever comes, and a player at each who was answered before. */
export class Players {
  readonly #client: UdpPeer;
  readonly #server: UdpPeer;
  readonly #ends: { readonly address: string; play(): Promise<Played> }[] = [];
  #isOver = false;

  static async join(
    internet: Internet,
    addresses: Readonly<Record<'udp' | 'tcp', readonly string[]>>,
  ): Promise<Players> {
    const players = new Players(internet);
    for (const address of addresses.udp) await players.#joinUdp(address);
    for (const address of addresses.tcp) await players.#joinTcp(internet, address);
    return players;
  }

  private constructor({ client, server }: Internet) {
    this.#client = new UdpPeer(client);
    this.#server = new UdpPeer(server);
  }

  /** Until it is over; by address. */
  async playUntil(over: Promise<unknown>): Promise<ReadonlyMap<string, Played>> {
    this.#isOver = false;
    const playing = this.#ends.map(async (end) => [end.address, await end.play()] as const);
    const ending = over.finally(() => {
      this.#isOver = true;
    });
    const [played] = await Promise.all([Promise.all(playing), ending]);
    return new Map(played);
  }

  async stop(): Promise<void> {
    await this.#client.stop();
    await this.#server.stop();
  }

  async #joinUdp(address: string): Promise<void> {
    const game = await this.#server.open(address, GAME, '');
    const family = address.includes(':') ? 6 : 4;
    const player = await this.#client.open(CLIENT[family]);
    await player.exchange(address, GAME);
    const play = async (): Promise<Played> => {
      const before = await player.received();
      let sent = 0;
      for (; !this.#isOver; sent++) {
        await player.send(address, GAME);
        await pause(DATAGRAMS_APART_MS);
      }
      // What is on its way arrives, or never will.
      await game.received();
      return { sent, answered: (await player.received()) - before };
    };
    this.#ends.push({ address, play });
  }

  async #joinTcp({ client, server }: Internet, address: string): Promise<void> {
    await TcpEnd.serve(server, address, GAME);
    const player = await TcpEnd.connect(client, address, GAME);
    if (player === null) throw new Error(`${address} does not answer`);
    const play = async (): Promise<Played> => {
      const played = { sent: 0, answered: 0 };
      for (; !this.#isOver; played.sent++) {
        if ((await player.ask()) === 'echo') played.answered++;
        await pause(DATAGRAMS_APART_MS);
      }
      return played;
    };
    this.#ends.push({ address, play });
  }
}
