import { once } from 'node:events';
import { joinBzflag } from './bzflag.ts';
import { joinFreeciv } from './freeciv.ts';
import { joinLuanti } from './luanti.ts';
import { joinMinecraft } from './minecraft.ts';
import { joinOpenttd } from './openttd.ts';
import type { Join } from './session.ts';
import { joinTeeworlds } from './teeworlds.ts';

/**
 * `client-process.ts GAME HOST PORT`: one client, in whatever network namespace it is started. Says its facts as JSON
 * in its first line, then one line of base64 for everything that it hears, until its standard input ends.
 */
const GAMES = {
  'flying-squid': joinMinecraft,
  luanti: joinLuanti,
  teeworlds: joinTeeworlds,
  openttd: joinOpenttd,
  bzflag: joinBzflag,
  freeciv: joinFreeciv,
} as const satisfies Readonly<Record<string, Join>>;
export type Game = keyof typeof GAMES;

const [game = '', host = '', port = ''] = process.argv.slice(2);
const session = await GAMES[game as Game](host, Number(port));
console.log(JSON.stringify(session.facts));
void hear();
process.stdin.resume();
await once(process.stdin, 'end');
session.close();
process.exit(0);

async function hear(): Promise<void> {
  if (session.heard === null) return;
  try {
    for await (const bytes of session.heard) console.log(bytes.toString('base64'));
  } catch (error) {
    // The server has gone: whoever waits to hear something hears that.
    console.error(String(error));
  }
  process.exit(0);
}
