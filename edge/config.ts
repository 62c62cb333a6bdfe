import { filled, readProcessConfig } from '@portcullis/agent/process-config.ts';
import type { ManagementPort } from '@portcullis/core/firewall/packet.ts';
import type { RequestedMode } from './switch/mode.ts';
import {
  array,
  integer,
  nullable,
  number,
  object,
  oneOf,
  text,
  withDefault,
} from '@portcullis/link/messages/schema.ts';

/** The configuration of an edge process. */
export interface EdgeConfig {
  readonly name: string;
  /** The credential that control admits it by. Null only where control requires none. */
  readonly credential: string | null;
  /** The Unix socket of the control plane. */
  readonly linkPath: string;
  readonly stateDir: string;
  readonly mode: RequestedMode;
  readonly confirmWithinMs: number | null;
  readonly management: readonly ManagementPort[];
  /** Why it is not sure by what this host is administered; null if it is. */
  readonly managementProblem: string | null;
}

const configSchema = object<EdgeConfig>({
  name: filled,
  credential: withDefault(nullable(filled), null),
  linkPath: filled,
  stateDir: filled,
  mode: withDefault(oneOf('enforce', 'observe'), 'observe'),
  confirmWithinMs: withDefault(nullable(number(Number.MIN_VALUE, Number.MAX_VALUE)), null),
  management: withDefault(
    array(
      object<ManagementPort>({ protocol: oneOf('tcp', 'udp'), port: integer(1, 65_535) }),
      65_535,
    ),
    [],
  ),
  managementProblem: withDefault(nullable(text(10_000)), null),
});

/** A message that the parent of the process sends when the management ports of the host change. */
export type ManagementMessage = { readonly kind: 'management' } & Pick<
  EdgeConfig,
  'management' | 'managementProblem'
>;

export const CONFIG_VARIABLE = 'PORTCULLIS_EDGE_CONFIG';

/** Reads JSON from the first argument or the environment. Throws with the reason if it is invalid. */
export function readConfig(argv: readonly string[], env: NodeJS.ProcessEnv): EdgeConfig {
  const given = argv[2] ?? env[CONFIG_VARIABLE];
  if (given === undefined) {
    throw new Error(`an edge needs its configuration as an argument or in ${CONFIG_VARIABLE}`);
  }
  return readProcessConfig(configSchema, given);
}

/** Reads `PORTCULLIS_EARLY_DROP`, by default `on`. Throws on values other than on and off. */
export function readEarlyDrop(env: NodeJS.ProcessEnv): 'on' | 'off' {
  const text = (env['PORTCULLIS_EARLY_DROP'] ?? '').trim();
  if (text === '' || text === 'on') return 'on';
  if (text === 'off') return 'off';
  throw new Error(`PORTCULLIS_EARLY_DROP: "${text}" is neither on nor off`);
}

/** Reads `PORTCULLIS_FAST_PATH`, by default `off`. Throws on values other than on and off. */
export function readFastPath(env: NodeJS.ProcessEnv): boolean {
  const text = (env['PORTCULLIS_FAST_PATH'] ?? '').trim();
  if (text === '' || text === 'off') return false;
  if (text === 'on') return true;
  throw new Error(`PORTCULLIS_FAST_PATH: "${text}" is neither on nor off`);
}

/** Reads `PORTCULLIS_EARLY_DROP_ROOM`, the most addresses in the early drop. Throws if it is no number above 0. */
export function readEarlyDropCapacity(env: NodeJS.ProcessEnv): number {
  const text = (env['PORTCULLIS_EARLY_DROP_ROOM'] ?? '').trim();
  if (text === '') return Infinity;
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new Error(`PORTCULLIS_EARLY_DROP_ROOM: "${text}" is not a number of addresses`);
}
