import { createInterface } from 'node:readline';
import { Lobby } from './connections.ts';
import { loadWorld, saveWorld } from './save.ts';
import { World } from './world.ts';

/** Hearth: see `egg.json`. Its folder is the working directory; `SERVER_IP` and `SERVER_PORT` are where it listens. */
const SAVE_EVERY_MS = 30_000;
const HELP = 'commands: say TEXT, list, kick NAME, save, stop';

const world = new World(loadWorld(say));
const lobby = new Lobby({
  world,
  motd: process.env['MOTD'] ?? '',
  maxPlayers: Number(process.env['MAX_PLAYERS'] ?? '') || 32,
  say,
});
const address = process.env['LISTEN_ADDRESS'] || process.env['SERVER_IP'] || '127.0.0.1';
let stopping = false;

lobby.server.on('error', (error) => {
  say(`cannot listen on ${address}: ${error.message}`);
  process.exit(1);
});
lobby.server.listen(Number(process.env['SERVER_PORT'] ?? '7777'), address, () => {
  const at = lobby.server.address();
  const port = typeof at === 'object' && at !== null ? at.port : 0;
  say(`Ready on ${address.includes(':') ? `[${address}]` : address}:${port}`);
});
setInterval(() => world.changed && save(), SAVE_EVERY_MS).unref();
process.on('SIGTERM', stop);
process.on('SIGINT', stop);
// Whoever reads the console may go away; the world does not.
process.stdout.on('error', () => undefined);
const input = createInterface({ input: process.stdin });
input.on('line', obey);

function obey(line: string): void {
  const [, verb = '', rest = ''] = /^\/?(\S*)\s*(.*)$/.exec(line.trim()) ?? [];
  if (verb === 'say') {
    lobby.deliver(world.announce(`The house: ${rest}`));
    say(`said to ${world.names.length}: ${rest}`);
  } else if (verb === 'list') say(`${world.names.length} here: ${world.names.join(', ')}`);
  else if (verb === 'kick')
    say(lobby.kick(rest) ? `${rest} is out` : `nobody here is called ${rest}`);
  else if (verb === 'save') save();
  else if (verb === 'stop') stop();
  else if (verb !== '') say(`unknown: ${verb}; ${HELP}`);
}

function save(): void {
  try {
    saveWorld(world.state);
    world.kept();
    say('The world is saved');
  } catch (error) {
    say(`The world cannot be saved: ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = 1;
  }
}

/** Runs once, however often it is called: players are informed, the world is saved, and timers are stopped. */
function stop(): void {
  if (stopping) return;
  stopping = true;
  say('Stopping');
  lobby.close('The fire goes out. Until next time.');
  save();
  input.close();
  process.stdin.destroy();
}

function say(text: string): void {
  process.stdout.write(`[hearth] ${text}\n`);
}
