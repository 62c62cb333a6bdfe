import { createServer, type Server, type Socket } from 'node:net';
import type { Message, World } from './world.ts';

const MAX_LINE = 400;
/** A reader that does not read is let go before what waits for it fills the memory. */
const MAX_UNREAD = 65_536;
const NAME_WITHIN_MS = 60_000;
const IDLE_MS = 30 * 60_000;
const LINES_PER_SECOND = 20;

export interface LobbyOptions {
  readonly world: World;
  readonly motd: string;
  readonly maxPlayers: number;
  readonly say: (line: string) => void;
}

/** Who is connected, and what they type. */
export class Lobby {
  readonly server: Server;
  private readonly options: LobbyOptions;
  private readonly players = new Map<string, Socket>();
  private readonly strangers = new Set<Socket>();

  constructor(options: LobbyOptions) {
    this.options = options;
    this.server = createServer((socket) => this.greet(socket));
    // Connections without a name count too, and the same number of others get the answer that it is full.
    this.server.maxConnections = 2 * options.maxPlayers + 8;
  }

  deliver(messages: readonly Message[]): void {
    for (const { to, text } of messages) {
      const socket = this.players.get(to);
      if (socket !== undefined) write(socket, text);
    }
  }

  /** Says goodbye to everybody and takes nobody in any more. */
  close(words: string): void {
    this.server.close();
    for (const socket of [...this.strangers, ...this.players.values()]) {
      write(socket, words);
      socket.end();
      socket.setTimeout(1000, () => socket.destroy());
    }
  }

  kick(name: string): boolean {
    const socket = this.players.get(name);
    if (socket === undefined) return false;
    write(socket, 'You are shown the door.');
    socket.end();
    this.forget(name);
    return true;
  }

  private greet(socket: Socket): void {
    socket.on('error', () => socket.destroy());
    if (this.players.size + this.strangers.size >= this.options.maxPlayers) {
      write(socket, 'There is no room by the fire now. Come back later.');
      socket.end();
      socket.setTimeout(1000, () => socket.destroy());
      return;
    }
    this.strangers.add(socket);
    socket.setTimeout(NAME_WITHIN_MS, () => socket.destroy());
    let name: string | null = null;
    onLines(socket, (line) => {
      if (name === null) name = this.admit(socket, line);
      else this.hear(socket, name, line);
    });
    socket.on('close', () => {
      this.strangers.delete(socket);
      if (name !== null && this.players.get(name) === socket) this.forget(name);
    });
    write(socket, `${this.options.motd}\nWho are you? (a name of 2 to 16 letters and digits)`);
  }

  /** The name under which they are in; null: ask again. */
  private admit(socket: Socket, line: string): string | null {
    const name = line.trim();
    if (!/^[A-Za-z][A-Za-z0-9]{1,15}$/.test(name)) {
      write(socket, 'That is no name: 2 to 16 letters and digits, a letter first.');
      return null;
    }
    const messages = this.options.world.enter(name);
    if (messages.length === 0) {
      write(socket, 'Somebody of that name is here already.');
      return null;
    }
    this.strangers.delete(socket);
    this.players.set(name, socket);
    socket.setTimeout(IDLE_MS, () => socket.destroy());
    this.options.say(`${name} came in from ${socket.remoteAddress ?? 'nowhere'}`);
    this.deliver(messages);
    return name;
  }

  private hear(socket: Socket, name: string, line: string): void {
    if (this.players.get(name) !== socket) return;
    if (line.trim().toLowerCase() !== 'quit') {
      this.deliver(this.options.world.act(name, line));
      return;
    }
    write(socket, 'Farewell.');
    socket.end();
    this.forget(name);
  }

  private forget(name: string): void {
    this.players.delete(name);
    this.deliver(this.options.world.leave(name));
    this.options.say(`${name} left`);
  }
}

/** Complete lines without control characters; too long a line, or too many, ends the connection. */
function onLines(socket: Socket, onLine: (line: string) => void): void {
  let held = '';
  let second = 0;
  let count = 0;
  socket.setEncoding('utf8');
  socket.on('data', (chunk) => {
    held += String(chunk);
    const lines = held.split('\n');
    held = lines.pop() ?? '';
    for (const line of lines) {
      const now = Math.floor(performance.now() / 1000);
      count = now === second ? count + 1 : 1;
      second = now;
      if (count > LINES_PER_SECOND || line.length > MAX_LINE) {
        socket.destroy();
        return;
      }
      onLine(line.replaceAll(/\p{Cc}/gu, ''));
    }
    if (held.length > MAX_LINE) socket.destroy();
  });
}

function write(socket: Socket, text: string): void {
  if (socket.destroyed || socket.writableEnded) return;
  socket.write(`${text.replaceAll('\n', '\r\n')}\r\n`);
  if (socket.writableLength > MAX_UNREAD) socket.destroy();
}
