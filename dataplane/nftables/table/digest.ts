import { createHash } from 'node:crypto';
import { changedKeys } from '../../compile/changed-keys.ts';
import type { CompiledTarget } from '../policy/compiled.ts';
import type { Layout, SourceSetContent } from './layout.ts';
import { renderWhole } from './render.ts';

const targets = new WeakMap<CompiledTarget, Uint32Array>();
const sets = new WeakMap<SourceSetContent, string>();
/** The entries hashed without a pause, in 0.5 ms. A change meanwhile waits for many such turns. */
const BATCH_SIZE = 100;
const LANES = 4;
const NOTHING = new Uint32Array(LANES);

interface Sum {
  readonly targets: Layout['targets'];
  readonly lanes: Uint32Array;
}

/**
 * A digest of all that the kernel has of a layout, except the sizes of maps, which depend on the history. A later
 * process, perhaps of another version, uses it to tell whether it would write the same.
 */
export class LayoutDigest {
  #last: Sum = { targets: new Map(), lanes: new Uint32Array(LANES) };

  /** Takes time in proportion to the changes since the previous layout. One call at a time. */
  async of(layout: Layout): Promise<string> {
    const hash = createHash('sha256');
    // The order has no effect on packets.
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
    if (index % BATCH_SIZE === BATCH_SIZE - 1) await new Promise(setImmediate);
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
