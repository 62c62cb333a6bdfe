import { createHash } from 'node:crypto';
import type { CompiledTarget } from './compile.ts';
import type { Layout, SourceSetContent } from './layout.ts';
import { renderWhole } from './render.ts';

const targets = new WeakMap<CompiledTarget, Uint32Array>();
const sets = new WeakMap<SourceSetContent, string>();
/** New ones in a row, before others get their turn: about three milliseconds. */
const AT_A_TIME = 500;
const LANES = 4;

/**
 * Stands for everything that the kernel is given of a layout, so that a later process, perhaps of another version,
 * can tell whether it would write the same. The room of maps apart, which depends on what was there before.
 * Costs a microsecond for each target that is new, and little for all others.
 */
export async function digestOf(layout: Layout): Promise<string> {
  const hash = createHash('sha256');
  // Which set or target came first is nothing that a packet could see.
  const all = [...layout.sets].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const empty = new Map(all.map(([name, set]) => [name, { ...set, networks: [] }]));
  hash.update(renderWhole({ ...layout, targets: new Map(), sets: empty }).text);
  for (const [name, set] of all) hash.update(`${name} ${setDigest(set)}\n`);
  const sum = new Uint32Array(LANES);
  let made = 0;
  for (const target of layout.targets.values()) {
    let digest = targets.get(target);
    if (digest === undefined) {
      digest = targetDigest(target);
      targets.set(target, digest);
      made += 1;
      if (made % AT_A_TIME === 0) await new Promise(setImmediate);
    }
    for (let lane = 0; lane < LANES; lane += 1) sum[lane] = (sum[lane] ?? 0) + (digest[lane] ?? 0);
  }
  return hash.update(sum).digest('hex');
}

function targetDigest({ target, elements }: CompiledTarget): Uint32Array {
  const lines = elements.map(({ map, key, verdict }) => `${map} ${key} ${verdict}`);
  const bytes = createHash('sha256')
    .update(`${target}\n${lines.join('\n')}`)
    .digest();
  return Uint32Array.from({ length: LANES }, (_, lane) => bytes.readUInt32LE(lane * 4));
}

function setDigest(set: SourceSetContent): string {
  const known = sets.get(set);
  if (known !== undefined) return known;
  const digest = createHash('sha256').update(set.networks.join('\n')).digest('hex');
  sets.set(set, digest);
  return digest;
}
