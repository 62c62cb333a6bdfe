import type { Game } from './client.ts';
import type { Facts } from './session.ts';

/** The work that is done with one shipped game, and what must be seen of it. */
export interface Scenario {
  /** The name in its egg (`eggs/<name>.json`) and of its client. */
  readonly game: Game;
  readonly port: number;
  /** Beside the egg's defaults. */
  readonly variables: Readonly<Record<string, string>>;
  /** The facts that a client sees before anything is commanded. */
  readonly reported: Partial<Facts>;
  readonly commanded: {
    readonly line: string;
    readonly effect: Effect;
  };
  /** The actions that make it worth saving: typed into the console, and what the console then says. */
  readonly played: readonly { readonly line: string; readonly answer: string }[];
  /** Files that a graceful stop leaves, by globs below the server's folder. */
  readonly saved: readonly string[];
  /** How a later start shows that it went on from there. */
  readonly resumed: Resumed;
}

/** The command sends a text to players, or changes the answer to the next request. */
export type Effect =
  | { readonly kind: 'heard'; readonly text: string }
  | { readonly kind: 'reported'; readonly facts: Partial<Facts> };

export type Resumed =
  | { readonly kind: 'said'; readonly text: string }
  | { readonly kind: 'unsaid'; readonly text: string }
  | { readonly kind: 'reported'; readonly facts: Partial<Facts> }
  /** The game keeps nothing. */
  | { readonly kind: 'nothing' };

export const SCENARIOS: readonly Scenario[] = [
  {
    game: 'flying-squid',
    port: 25_565,
    variables: { MOTD: 'Squids of the lab', MAX_PLAYERS: '7', ONLINE_MODE: 'false' },
    reported: { name: 'Squids of the lab', version: '1.21.4', detail: '7 players' },
    commanded: { line: 'say hear me', effect: { kind: 'heard', text: '[Server] hear me' } },
    played: [],
    saved: ['world/1.21.4/level.dat', 'world/1.21.4/playerdata/*.dat'],
    resumed: { kind: 'nothing' },
  },
  {
    game: 'luanti',
    port: 30_000,
    variables: { SERVER_NAME: 'Nodes of the lab' },
    reported: { version: 'protocol 41', detail: 'sets a first password' },
    commanded: {
      line: '/setpassword visitor secret',
      effect: { kind: 'reported', facts: { detail: 'legacy password' } },
    },
    played: [{ line: '/time 6:00', answer: 'Time of day changed' }],
    // The map itself comes to the disk only once somebody has seen some of it.
    saved: ['world/env_meta.txt', 'world/auth.sqlite'],
    resumed: { kind: 'reported', facts: { detail: 'legacy password' } },
  },
  {
    game: 'teeworlds',
    port: 8303,
    variables: { SERVER_NAME: 'Tees of the lab', MAP: 'ctf5', GAME_TYPE: 'ctf' },
    reported: { name: 'Tees of the lab', version: '0.7.5', detail: 'ctf5' },
    commanded: {
      line: 'sv_name "Tees renamed"',
      effect: { kind: 'reported', facts: { name: 'Tees renamed' } },
    },
    played: [],
    saved: [],
    resumed: { kind: 'nothing' },
  },
  {
    game: 'openttd',
    port: 3979,
    variables: { SERVER_NAME: 'Trains of the lab', MAP_SIZE: '6' },
    reported: { name: 'Trains of the lab', version: '13.0', detail: 'no password' },
    commanded: {
      line: 'server_name "Trains renamed"',
      effect: { kind: 'reported', facts: { name: 'Trains renamed' } },
    },
    played: [],
    saved: ['save/autosave/exit.sav'],
    resumed: { kind: 'unsaid', text: 'Generating map' },
  },
  {
    game: 'bzflag',
    port: 5154,
    variables: { WELCOME: 'Tanks of the lab' },
    reported: { version: '0221', detail: 'observer' },
    commanded: { line: 'hear me', effect: { kind: 'heard', text: 'hear me' } },
    played: [],
    saved: [],
    resumed: { kind: 'nothing' },
  },
  {
    game: 'freeciv',
    port: 5556,
    variables: { RULESET: 'classic' },
    reported: { version: 'Freeciv-3.0', detail: 'visitor Welcome' },
    commanded: { line: '/wall hear me', effect: { kind: 'heard', text: 'hear me' } },
    played: [
      { line: 'set minplayers 0', answer: 'minplayers' },
      { line: 'start', answer: 'rules the' },
      // Read once the map is made and the game runs: before that there is nothing to save.
      { line: 'save lab', answer: 'Game saved as' },
    ],
    saved: ['saves/*interrupted*'],
    resumed: { kind: 'said', text: 'Savegame' },
  },
];
