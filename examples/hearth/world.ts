import { type Direction, isDirection, ROOMS, type Room, START } from './map.ts';

/** The state that is kept between two runs. */
export interface WorldState {
  /** Items by room. */
  readonly items: Readonly<Record<string, readonly string[]>>;
  readonly players: Readonly<Record<string, SavedPlayer>>;
}
interface SavedPlayer {
  readonly room: string;
  readonly carries: readonly string[];
}

interface Player {
  room: string;
  readonly carries: string[];
}

/** Somebody reads this. */
export interface Message {
  readonly to: string;
  readonly text: string;
}

/** The most players that are remembered; of those who are not here, the ones that came first are forgotten. */
const MAX_REMEMBERED = 10_000;
const SHORT: Readonly<Record<string, string>> = {
  n: 'north',
  s: 'south',
  e: 'east',
  w: 'west',
  l: 'look',
  i: 'inventory',
};

/** The world and who is in it. Knows no sockets: answers what everybody reads now. */
export class World {
  private readonly items = new Map<string, string[]>();
  private readonly known = new Map<string, Player>();
  private readonly present = new Set<string>();
  /** Something happened since the world was last on the disk. */
  private dirty = true;

  constructor(state: WorldState | null) {
    for (const [name, room] of Object.entries(ROOMS)) {
      this.items.set(name, [...(state === null ? room.items : (state.items[name] ?? []))]);
    }
    for (const [name, { room, carries }] of Object.entries(state?.players ?? {})) {
      this.known.set(name, {
        room: Object.hasOwn(ROOMS, room) ? room : START,
        carries: [...carries],
      });
    }
  }

  get names(): readonly string[] {
    return [...this.present].toSorted();
  }

  get changed(): boolean {
    return this.dirty;
  }

  isPresent(name: string): boolean {
    return this.present.has(name);
  }

  /** Empty: the name is taken. */
  enter(name: string): readonly Message[] {
    if (this.present.has(name)) return [];
    if (!this.known.has(name)) this.remember(name);
    this.present.add(name);
    return [...this.here(name, `${name} comes in.`), ...this.look(name)];
  }

  leave(name: string): readonly Message[] {
    if (!this.present.has(name)) return [];
    const reported = this.here(name, `${name} is gone.`);
    this.present.delete(name);
    return reported;
  }

  /** One line of a player. */
  act(name: string, line: string): readonly Message[] {
    const [, word = '', rest = ''] = /^(\S*)\s*(.*)$/.exec(line.trim()) ?? [];
    const verb = SHORT[word.toLowerCase()] ?? word.toLowerCase();
    if (isDirection(verb)) return this.go(name, verb);
    if (verb === 'look') return this.look(name);
    if (verb === 'go') {
      const way = SHORT[rest.toLowerCase()] ?? rest.toLowerCase();
      return isDirection(way) ? this.go(name, way) : tell(name, 'Go where?');
    }
    if (verb === 'say') return this.say(name, rest);
    if (verb === 'who') return tell(name, `Here are: ${this.names.join(', ')}`);
    if (verb === 'take') return this.take(name, rest.toLowerCase());
    if (verb === 'drop') return this.drop(name, rest.toLowerCase());
    if (verb === 'inventory') return this.inventory(name);
    return tell(
      name,
      'You can: look, north, south, east, west, say, who, take, drop, inventory, quit.',
    );
  }

  /** Everybody who is here reads it. */
  announce(text: string): readonly Message[] {
    return this.names.map((to) => ({ to, text }));
  }

  /** The state to write to the disk; `kept` says that it is there. */
  get state(): WorldState {
    return {
      items: Object.fromEntries(this.items),
      players: Object.fromEntries(
        [...this.known].map(([name, { room, carries }]) => [name, { room, carries: [...carries] }]),
      ),
    };
  }

  kept(): void {
    this.dirty = false;
  }

  private remember(name: string): void {
    if (this.known.size >= MAX_REMEMBERED) {
      const gone = [...this.known.keys()].find((one) => !this.present.has(one));
      if (gone !== undefined) this.forget(gone);
    }
    this.known.set(name, { room: START, carries: [] });
    this.dirty = true;
  }

  /** Forgets a player: what they carried lies where they were. */
  private forget(name: string): void {
    const player = this.known.get(name);
    if (player !== undefined) this.items.get(player.room)?.push(...player.carries);
    this.known.delete(name);
  }

  private go(name: string, way: Direction): readonly Message[] {
    const player = this.player(name);
    const next = this.room(name).exits[way];
    if (next === undefined) return tell(name, 'There is no way there.');
    const left = this.here(name, `${name} goes ${way}.`);
    player.room = next;
    this.dirty = true;
    return [...left, ...this.here(name, `${name} comes in.`), ...this.look(name)];
  }

  private look(name: string): readonly Message[] {
    const room = this.room(name);
    const others = this.others(name);
    const items = this.items.get(this.player(name).room) ?? [];
    const lines = [
      room.title,
      room.text,
      `Ways: ${Object.keys(room.exits).join(', ')}`,
      ...(items.length > 0 ? [`On the floor: ${items.join(', ')}`] : []),
      ...(others.length > 0 ? [`Here: ${others.join(', ')}`] : []),
    ];
    return tell(name, lines.join('\n'));
  }

  private say(name: string, text: string): readonly Message[] {
    if (text === '') return tell(name, 'Say what?');
    return [...this.here(name, `${name}: ${text}`), { to: name, text: `You: ${text}` }];
  }

  private take(name: string, item: string): readonly Message[] {
    const player = this.player(name);
    if (!move(item, this.items.get(player.room) ?? [], player.carries)) {
      return tell(name, 'There is no such thing here.');
    }
    this.dirty = true;
    return [
      ...tell(name, `You take the ${item}.`),
      ...this.here(name, `${name} takes the ${item}.`),
    ];
  }

  private drop(name: string, item: string): readonly Message[] {
    const player = this.player(name);
    if (!move(item, player.carries, this.items.get(player.room) ?? [])) {
      return tell(name, 'You have no such thing.');
    }
    this.dirty = true;
    return [
      ...tell(name, `You drop the ${item}.`),
      ...this.here(name, `${name} drops the ${item}.`),
    ];
  }

  private inventory(name: string): readonly Message[] {
    const { carries } = this.player(name);
    return tell(
      name,
      carries.length === 0 ? 'You carry nothing.' : `You carry: ${carries.join(', ')}`,
    );
  }

  private player(name: string): Player {
    const player = this.known.get(name);
    if (player === undefined) throw new Error(`nobody is called ${name}`);
    return player;
  }

  private room(name: string): Room {
    return ROOMS[this.player(name).room] as Room;
  }

  private others(name: string): string[] {
    const { room } = this.player(name);
    return this.names.filter((one) => one !== name && this.known.get(one)?.room === room);
  }

  /** To everybody else in the room. */
  private here(name: string, text: string): readonly Message[] {
    return this.others(name).map((to) => ({ to, text }));
  }
}

function tell(to: string, text: string): readonly Message[] {
  return [{ to, text }];
}

function move(item: string, from: string[], to: string[]): boolean {
  const at = from.indexOf(item);
  if (at === -1) return false;
  to.push(...from.splice(at, 1));
  return true;
}
