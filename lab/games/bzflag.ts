import type { Join } from './session.ts';
import { Tcp } from './tcp.ts';
import { padded, u16 } from './wire-strings.ts';

const HELLO = 'BZFLAG\r\n\r\n';
const GREETING = /^BZFS(\d{4})$/;
const FULL = 255;
const code = (text: string): number => Buffer.from(text, 'latin1').readUInt16BE();
const ENTER = code('en');
const ACCEPT = code('ac');
const REJECT = code('rj');
const MESSAGE = code('mg');
const WANT_SETTINGS = code('ws');
/** A server turns away what it does not know. */
const VERSION = '2.4.26.20230103-MAINT-linux-gnu';
const TANK_PLAYER = 0;
const OBSERVERS = 5;

/** BZFlag 2.4: enters as an observer, and hears what is said. Source: include/Protocol.h. */
export const joinBzflag: Join = async (host, port) => {
  const tcp = await Tcp.open(host, port);
  tcp.write(Buffer.from(HELLO, 'latin1'));
  const greeting = await tcp.read(9);
  const [, version] = GREETING.exec(greeting.toString('latin1', 0, 8)) ?? [];
  if (version === undefined || greeting[8] === FULL)
    throw new Error(`not let in: ${greeting.toString('hex')}`);
  const enter = Buffer.concat([
    u16(TANK_PLAYER),
    u16(OBSERVERS),
    padded('visitor', 32),
    padded('', 128),
    padded('', 22),
    padded(VERSION, 60),
  ]);
  tcp.write(Buffer.concat([u16(enter.length), u16(ENTER), enter]));
  const next = async (): Promise<readonly [number, Buffer]> => {
    const header = await tcp.read(4);
    return [header.readUInt16BE(2), await tcp.read(header.readUInt16BE(0))];
  };
  // It lets nobody in before it knows the name of the address or has given up on it, and looks only when something comes.
  const again = setInterval(() => tcp.write(Buffer.concat([u16(0), u16(WANT_SETTINGS)])), 500);
  try {
    for (;;) {
      const [kind, body] = await next();
      if (kind === REJECT) throw new Error(`rejected: ${body.toString('latin1', 2)}`);
      if (kind === ACCEPT) break;
    }
  } finally {
    clearInterval(again);
  }
  async function* heard(): AsyncGenerator<Buffer> {
    for (;;) {
      const [kind, body] = await next();
      if (kind === MESSAGE) yield body;
    }
  }
  return {
    facts: { name: null, version, detail: 'observer' },
    heard: heard(),
    close: () => tcp.close(),
  };
};
