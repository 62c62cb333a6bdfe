import { createHash } from 'node:crypto';
import { changedKeys } from '../../compile/changed-keys.ts';
import type { CompiledTarget } from '../policy/compiled.ts';
import type { Layout, SourceSetContent } from './layout.ts';
import { renderWhole } from './render.ts';

const targets = new WeakMap<CompiledTarget, Uint32Array>();
const sets = new WeakMap<SourceSetContent, string>();
/** New ones in a row, before others get their turn: half a millisecond, for a change meanwhile waits for many turns. */
const AT_A_TIME = 100;
const LANES = 4;
const NOTHING = new Uint32Array(LANES);

interface Sum {
  readonly targets: Layout['targets'];
  readonly lanes: Uint32Array;
}

/**
 * Stands for everything that the kernel is given of a layout, so that a later process, perhaps of another version,
 * can tell whether it would write the same. The room of maps apart, which depends on what was there before.
 */
export class LayoutDigest {
  #last: Sum = { targets: new Map(), lanes: new Uint32Array(LANES) };

  /** Costs what changed since the layout that was asked for last. One call at a time. */
  async of(layout: Layout): Promise<string> {
    const hash = createHash('sha256');
    // Which set or target came first is nothing that a packet could see.
    const all = [...layout.sets].toSorted(([a], [b]) => (a < b ? -1 : 1));
    const empty = new Map(all.map(([name, set]) => [name, { ...set, networks: [] }]));
    hash.update(renderWhole({ ...layout, targets: new Map(), sets: empty }).text);
    for (const [name, set] of all) hash.update(`${name} ${setDigest(set)}\n`);
    this.#last = await sumOf(layout.targets, this.#last);
    return hash.update(this.#last.lanes).digest('hex');
  }
}

async function sumOf(after: Layout['targets'], before: Sum): Promise<Sum> {
  const lanes = Uint32Array.from(before.lanes);
  const names = changedKeys(before.targets, after);
  for (const [index, name] of names.entries()) {
    const [old, now] = [before.targets.get(name), after.get(name)].map(targetDigest);
    for (let lane = 0; lane < LANES; lane += 1) {
      lanes[lane] = (lanes[lane] ?? 0) - (old?.[lane] ?? 0) + (now?.[lane] ?? 0);
    }
    if (index % AT_A_TIME === AT_A_TIME - 1) await new Promise(setImmediate);
  }
  return { targets: after, lanes };
}

function targetDigest(compiled: CompiledTarget | undefined): Uint32Array {
  if (compiled === undefined) return NOTHING;
  const known = targets.get(compiled);
  if (known !== undefined) return known;
  const { target, elements } = compiled;
  const lines = elements.map(({ map, key, verdict }) => `${map} ${key} ${verdict}`);
  const bytes = createHash('sha256')
    .update(`${target}\n${lines.join('\n')}`)
    .digest();
  const digest = Uint32Array.from({ length: LANES }, (_, lane) => bytes.readUInt32LE(lane * 4));
  targets.set(compiled, digest);
  return digest;
}

function setDigest(set: SourceSetContent): string {
  const known = sets.get(set);
  if (known !== undefined) return known;
  const digest = createHash('sha256').update(set.networks.join('\n')).digest('hex');
  sets.set(set, digest);
  return digest;
}
