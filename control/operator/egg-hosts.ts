import type { Egg } from '@portcullis/core/game-servers/egg.ts';
import {
  evaluateImage,
  type HostEngines,
  imageOf,
  type LocalImage,
} from '@portcullis/core/game-servers/host-engines.ts';
import type { NodeStatus } from '../game-servers/index.ts';

type Host = Pick<NodeStatus, 'name' | 'connected' | 'engine'>;

/** A node, and whether it can run an image now. */
export interface EggHost {
  readonly node: string;
  readonly ok: boolean;
  /** A sentence; null: it can. */
  readonly reason: string | null;
  readonly commands: readonly string[];
  readonly image: string | null;
}

/** How the operator calls the command on the host of control: `./portcullis` in a clone. */
export type ProgramName = string;

/** Finds the nodes that can run the first image of an egg, or that of a label. */
export function hostsOf(
  egg: Pick<Egg, 'images'>,
  nodes: readonly Host[],
  program: ProgramName,
  label: string | null = null,
): EggHost[] {
  const image = imageOf(egg, label);
  return nodes.map((host) => {
    const refused = (reason: string): EggHost => ({
      node: host.name,
      ok: false,
      reason,
      commands: [],
      image: null,
    });
    if (!host.connected) return refused('It is not connected.');
    const engines = enginesOf(host);
    // An agent of an older version does not say what it has: its build says what is missing.
    if (engines === null || image === null) {
      const answers = typeof host.engine?.version === 'string';
      return answers
        ? { node: host.name, ok: true, reason: null, commands: [], image: null }
        : refused(host.engine?.problem ?? 'Its engine does not answer.');
    }
    const runnable = evaluateImage(image, engines);
    if (runnable.ok) return { node: host.name, ok: true, reason: null, commands: [], image: null };
    const commands = runnable.commands.map((line) => line.replace(/^portcullis\b/, program));
    return { ...refused(runnable.reason), commands, image: runnable.image };
  });
}

export function enginesOf({ engine }: Pick<NodeStatus, 'engine'>): HostEngines | null {
  return engine?.host ?? null;
}

/** The images that a node makes. */
export function imagesOf(host: Host): (LocalImage & { readonly node: string })[] {
  return (enginesOf(host)?.images ?? []).map((image) => ({ node: host.name, ...image }));
}
