/** Facts that a client of a game finds out when it has got in. */
export interface Facts {
  /** The name as the server calls itself; null: the protocol has no word for it. */
  readonly name: string | null;
  /** The version of the game or its protocol, as the server says it. */
  readonly version: string;
  /** Other facts that are worth comparing, such as how a player must log in. */
  readonly detail: string;
}

export interface Session {
  readonly facts: Facts;
  /** Everything that the server says to players from now on, raw. Ends when it closes; null: nothing is ever said. */
  readonly heard: AsyncIterable<Buffer> | null;
  close(): void;
}

/** Gets in by the game's own protocol; rejects when the server does not speak it. */
export type Join = (host: string, port: number) => Promise<Session>;
