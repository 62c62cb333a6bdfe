import type { Egg, StopTimes } from '../egg.ts';
import { isBlank, type Reader, shown } from './reader.ts';

type Extension = Pick<Egg, 'launch' | 'stopTimes' | 'capabilities' | 'protocols'>;

export const DEFAULT_STOP_TIMES: StopTimes = { termAfterMs: 60_000, killAfterMs: 15_000 };

/**
 * The capabilities that an egg may request: a part of Docker's default set, and two for games (locked memory,
 * scheduling). None allows leaving a container; `NET_RAW`, which allows forged packets, and `MKNOD` are excluded.
 */
const CAPABILITIES = [
  'CHOWN',
  'DAC_OVERRIDE',
  'FOWNER',
  'IPC_LOCK',
  'KILL',
  'NET_BIND_SERVICE',
  'SETGID',
  'SETUID',
  'SYS_CHROOT',
  'SYS_NICE',
] as const;
const PROTOCOLS = ['tcp', 'udp'] as const;
const KEYS = ['launch', 'stop_times', 'capabilities', 'protocols'] as const;

/**
 * The block `portcullis`: settings that the community's formats lack. Other panels ignore it. Unknown keys are rejected,
 * so that a mistyped key is noticed.
 *
 *     "portcullis": {
 *       "launch": "image" | "startup",
 *       "stop_times": { "term_after_seconds": 60, "kill_after_seconds": 15 },
 *       "capabilities": ["NET_BIND_SERVICE"],
 *       "protocols": ["udp"]
 *     }
 */
export function parseExtension(reader: Reader, value: unknown): Extension {
  if (isBlank(value)) {
    return {
      launch: 'image',
      stopTimes: DEFAULT_STOP_TIMES,
      capabilities: [],
      protocols: PROTOCOLS,
    };
  }
  const block = reader.object(value, 'portcullis');
  closed(reader, block, 'portcullis', KEYS);
  return {
    launch: readLaunch(reader, block['launch']),
    stopTimes: readStopTimes(reader, block['stop_times']),
    capabilities: readChosen(
      reader,
      block['capabilities'],
      'portcullis.capabilities',
      CAPABILITIES,
    ),
    protocols: readProtocols(reader, block['protocols']),
  };
}

function readLaunch(reader: Reader, value: unknown): Egg['launch'] {
  if (value === undefined) return 'image';
  if (value === 'image' || value === 'startup') return value;
  return reader.refuse('portcullis.launch', 'must be "image" or "startup"');
}

function readStopTimes(reader: Reader, value: unknown): StopTimes {
  if (value === undefined) return DEFAULT_STOP_TIMES;
  const location = 'portcullis.stop_times';
  const block = reader.object(value, location);
  closed(reader, block, location, ['term_after_seconds', 'kill_after_seconds']);
  const milliseconds = (name: string, low: number, otherwise: number): number =>
    block[name] === undefined
      ? otherwise
      : 1000 * reader.whole(block[name], `${location}.${name}`, low, 3600);
  return {
    termAfterMs: milliseconds('term_after_seconds', 0, DEFAULT_STOP_TIMES.termAfterMs),
    killAfterMs: milliseconds('kill_after_seconds', 1, DEFAULT_STOP_TIMES.killAfterMs),
  };
}

function readProtocols(reader: Reader, value: unknown): Egg['protocols'] {
  if (value === undefined) return PROTOCOLS;
  const chosen = readChosen(reader, value, 'portcullis.protocols', PROTOCOLS);
  if (chosen.length === 0) reader.refuse('portcullis.protocols', 'names no protocol');
  return chosen;
}

function readChosen<T extends string>(
  reader: Reader,
  value: unknown,
  location: string,
  known: readonly T[],
): readonly T[] {
  if (value === undefined) return [];
  const chosen = reader.list(value, location, 64).map((one, index) => {
    const found = known.find((name) => name === one);
    if (found !== undefined) return found;
    const said = typeof one === 'string' ? shown(one) : 'this';
    return reader.refuse(`${location}[${index}]`, `${said} is none of ${known.join(', ')}`);
  });
  return [...new Set(chosen)];
}

function closed(
  reader: Reader,
  block: Readonly<Record<string, unknown>>,
  location: string,
  keys: readonly string[],
): void {
  const unknown = Object.keys(block).find((key) => !keys.includes(key));
  if (unknown !== undefined) {
    reader.refuse(location, `${shown(unknown)} is not known; known are ${keys.join(', ')}`);
  }
}
