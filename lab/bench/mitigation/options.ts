import { parseArgs } from 'node:util';

export const PLANES = ['xdp', 'nftables'] as const;
export const FAMILIES = [4, 6] as const;
export const CONTROLS = ['alive', 'away'] as const;
export type Plane = (typeof PLANES)[number];
export type Family = (typeof FAMILIES)[number];
export type Control = (typeof CONTROLS)[number];

/** The setting that an attack is run on. */
export interface Setting {
  readonly plane: Plane;
  readonly family: Family;
  readonly control: Control;
  readonly killsAgent: boolean;
}

export interface MitigationOptions {
  readonly planes: readonly Plane[];
  readonly families: readonly Family[];
  readonly controls: readonly Control[];
  readonly killsAgent: boolean;
  /** Words of the names of attacks; all without. */
  readonly only: readonly string[];
  /** Twenty drawn attacks instead of those of the table; null without. */
  readonly seed: number | null;
  /** Writes the results into docs/detection.md. */
  readonly writesDocs: boolean;
}

const USAGE = `--only WORDS (again for more), --plane xdp|nftables|all, --family 4|6|all,
--control alive|away|all, --kill-agent, --seed N, --docs`;

/** Throws with the options that there are. */
export function parseOptions(args: readonly string[]): MitigationOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: 'string', multiple: true, default: [] },
      plane: { type: 'string', default: 'xdp' },
      family: { type: 'string', default: '4' },
      control: { type: 'string', default: 'alive' },
      'kill-agent': { type: 'boolean', default: false },
      seed: { type: 'string' },
      docs: { type: 'boolean', default: false },
    },
  });
  const seed = values.seed === undefined ? null : Number(values.seed);
  if (seed !== null && !(Number.isSafeInteger(seed) && seed >= 0))
    throw new Error(`--seed takes a whole number, not ${values.seed}`);
  return {
    planes: chosen(PLANES, 'plane', values.plane),
    families: chosen(FAMILIES, 'family', values.family),
    controls: chosen(CONTROLS, 'control', values.control),
    killsAgent: values['kill-agent'],
    only: values.only,
    seed,
    writesDocs: values.docs,
  };
}

function chosen<T>(all: readonly T[], name: string, value: string): readonly T[] {
  const found = value === 'all' ? all : all.filter((one) => String(one) === value);
  if (found.length === 0) throw new Error(`--${name} ${value} is not one of: ${USAGE}`);
  return found;
}

export function settingsOf(options: MitigationOptions): readonly Setting[] {
  const { planes, controls, families, killsAgent } = options;
  return planes.flatMap((plane) =>
    controls.flatMap((control) =>
      families.map((family) => ({ plane, family, control, killsAgent })),
    ),
  );
}

/** Such as `xdp, IPv4, control alive`. */
export function describeSetting({ plane, family, control, killsAgent }: Setting): string {
  const killed = killsAgent ? ', agent killed' : '';
  return `${plane}, IPv${family}, control ${control}${killed}`;
}
