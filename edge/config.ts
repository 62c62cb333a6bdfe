import type { ManagementPort } from '@portcullis/core/firewall/packet.ts';
import type { EdgeMode } from '@portcullis/link/messages/edge.ts';

/** The configuration of an edge process. */
export interface EdgeConfig {
  readonly name: string;
  /** What control admits it by. Null only where control requires none. */
  readonly credential: string | null;
  /** The Unix socket of the control plane. */
  readonly linkPath: string;
  readonly stateDir: string;
  readonly mode: EdgeMode;
  readonly confirmWithinMs: number | null;
  readonly management: readonly ManagementPort[];
  /** Why it is not sure by what this host is administered; null if it is. */
  readonly managementProblem: string | null;
}

/** What the parent of the process sends when the management ports of the host change. */
export type ManagementMessage = { readonly kind: 'management' } & Pick<
  EdgeConfig,
  'management' | 'managementProblem'
>;

export const CONFIG_VARIABLE = 'PORTCULLIS_EDGE_CONFIG';

/** Reads JSON from the first argument or the environment. Throws with the reason if it is invalid. */
export function readConfig(argv: readonly string[], env: NodeJS.ProcessEnv): EdgeConfig {
  const text = argv[2] ?? env[CONFIG_VARIABLE];
  if (text === undefined) {
    throw new Error(`an edge needs its configuration as an argument or in ${CONFIG_VARIABLE}`);
  }
  const value: unknown = JSON.parse(text);
  if (typeof value !== 'object' || value === null)
    throw new Error('the configuration must be a JSON object');
  const fields = value as Readonly<Record<string, unknown>>;
  return {
    name: textOf(fields, 'name'),
    credential: typeof fields['credential'] === 'string' ? fields['credential'] : null,
    linkPath: textOf(fields, 'linkPath'),
    stateDir: textOf(fields, 'stateDir'),
    mode: fields['mode'] === 'enforce' ? 'enforce' : 'observe',
    confirmWithinMs: durationOf(fields['confirmWithinMs']),
    management: portsOf(fields['management']),
    managementProblem: problemOf(fields['managementProblem']),
  };
}

/** Reads `PORTCULLIS_EARLY_DROP`, by default `on`. Throws on values other than on and off. */
export function readEarlyDrop(env: NodeJS.ProcessEnv): 'on' | 'off' {
  const text = (env['PORTCULLIS_EARLY_DROP'] ?? '').trim();
  if (text === '' || text === 'on') return 'on';
  if (text === 'off') return 'off';
  throw new Error(`PORTCULLIS_EARLY_DROP: "${text}" is neither on nor off`);
}

/** Reads `PORTCULLIS_EARLY_DROP_ROOM`, the most addresses in the early drop. Throws if it is no number above 0. */
export function readEarlyDropCapacity(env: NodeJS.ProcessEnv): number {
  const text = (env['PORTCULLIS_EARLY_DROP_ROOM'] ?? '').trim();
  if (text === '') return Infinity;
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new Error(`PORTCULLIS_EARLY_DROP_ROOM: "${text}" is not a number of addresses`);
}

function textOf(fields: Readonly<Record<string, unknown>>, name: string): string {
  const value = fields[name];
  if (typeof value !== 'string' || value === '') throw new Error(`the configuration lacks ${name}`);
  return value;
}

function problemOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

function durationOf(value: unknown): number | null {
  if (value === undefined || value === null) return null;
  if (typeof value === 'number' && Number.isFinite(value) && value > 0) return value;
  throw new Error('confirmWithinMs must be a positive number');
}

function portsOf(value: unknown): ManagementPort[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) throw new Error('management must be a list');
  return value.map((item: unknown) => {
    const { protocol, port } = (item ?? {}) as Readonly<Record<string, unknown>>;
    const known = protocol === 'tcp' || protocol === 'udp';
    if (!known || !Number.isInteger(port) || Number(port) < 1 || Number(port) > 65_535) {
      throw new Error(
        'each entry of management needs a protocol (tcp or udp) and a port (1 to 65535)',
      );
    }
    return { protocol, port: Number(port) };
  });
}
