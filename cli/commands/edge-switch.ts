import { join } from 'node:path';
import { edgeConfirm, edgeOn } from '@portcullis/edge/switch/switch-files.ts';
import { disableEnforcement } from '@portcullis/edge/switch/disable.ts';
import { failed } from '../exit.ts';
import { print, printJson } from '../output.ts';
import type { EdgeOptions } from '../program/edge.ts';
import { dataDirectory } from './edge.ts';

/** `portcullis edge off|on|confirm`: works on this host alone, with or without an agent and control. */
export async function switchEdge(
  what: 'off' | 'on' | 'confirm',
  options: EdgeOptions,
): Promise<void> {
  const stateDir = join(dataDirectory(options), 'edge');
  const said = await inWords(stateDir, () => SWITCHES[what](stateDir));
  if (options.json === true) printJson({ edge: what, state: stateDir });
  else print(said);
}

const SWITCHES = {
  off: async (stateDir: string) => {
    if (!(await disableEnforcement(stateDir, process.env))) {
      throw failed(
        `an edge that does not look at ${stateDir} enforces on this host: it puts its table back. Give the --data that it was started with`,
      );
    }
    return 'Our hands are off this host: nothing of ours is in its kernel, also after a restart. Back: portcullis edge on';
  },
  on: async (stateDir: string) => {
    edgeOn(stateDir);
    return 'The edge enforces again, where it runs and was asked to.';
  },
  confirm: async (stateDir: string) => {
    const result = edgeConfirm(stateDir);
    if (result === 'confirmed') return 'Confirmed: the edge keeps enforcing.';
    throw failed(
      result === 'none'
        ? 'there is nothing to confirm here: no edge was started with --confirm-within on this data directory'
        : 'too late: the edge has taken its hands off. Try again: portcullis edge on',
    );
  },
} as const;

async function inWords(stateDir: string, work: () => Promise<string>): Promise<string> {
  try {
    return await work();
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : '';
    // nft says it in words only, and not in the same ones everywhere.
    const unprivileged = process.getuid?.() !== 0;
    if (code !== 'EACCES' && code !== 'EPERM' && !unprivileged) throw error;
    throw failed(
      `this host's ${code === 'EACCES' || code === 'EPERM' ? stateDir : 'kernel'} is not ours to change: run this as root`,
      error,
    );
  }
}
