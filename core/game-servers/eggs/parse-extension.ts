import { FILTERS } from '../../filters/catalogue.ts';
import { array, check, closed, integer, oneOf, withDefault } from '../../schema.ts';
import type { Egg } from '../egg.ts';
import { isBlank, type Reader } from './reader.ts';

type Extension = Pick<Egg, 'launch' | 'stopTimes' | 'capabilities' | 'protocols' | 'filters'>;

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
const protocol = oneOf('tcp', 'udp');
const BOTH = ['tcp', 'udp'] as const;
const TERM_AFTER_SECONDS = 60;
const KILL_AFTER_SECONDS = 15;

const stopTimes = closed({
  term_after_seconds: withDefault(integer(0, 3600), TERM_AFTER_SECONDS),
  kill_after_seconds: withDefault(integer(1, 3600), KILL_AFTER_SECONDS),
});
const extension = closed({
  launch: withDefault(oneOf('image', 'startup'), 'image'),
  stop_times: withDefault(stopTimes, {
    term_after_seconds: TERM_AFTER_SECONDS,
    kill_after_seconds: KILL_AFTER_SECONDS,
  }),
  capabilities: withDefault(array(oneOf(...CAPABILITIES), 64), []),
  protocols: withDefault(array(protocol, 64), BOTH),
  filters: withDefault(array(oneOf(...FILTERS.map(({ type }) => type)), 64), []),
});

/**
 * The block `portcullis`: settings that the community's formats lack. Other panels ignore it. Unknown keys are rejected,
 * so that a mistyped key is noticed.
 *
 *     "portcullis": {
 *       "launch": "image" | "startup",
 *       "stop_times": { "term_after_seconds": 60, "kill_after_seconds": 15 },
 *       "capabilities": ["NET_BIND_SERVICE"],
 *       "protocols": ["udp"],
 *       "filters": ["teeworlds"]
 *     }
 */
export function parseExtension(reader: Reader, value: unknown): Extension {
  const block = check(extension, isBlank(value) ? {} : value);
  if (!block.ok) return reader.refuse('portcullis', block.reason);
  const { launch, stop_times: times, capabilities, protocols, filters } = block.value;
  if (protocols.length === 0) reader.refuse('portcullis.protocols', 'names no protocol');
  return {
    launch,
    stopTimes: {
      termAfterMs: times.term_after_seconds * 1_000,
      killAfterMs: times.kill_after_seconds * 1_000,
    },
    capabilities: [...new Set(capabilities)],
    protocols: [...new Set(protocols)],
    filters,
  };
}
