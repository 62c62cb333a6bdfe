import type { SourceSets } from '@portcullis/core/firewall/policy.ts';
import { sourceSets } from '@portcullis/link/parse-policy.ts';
import { check, list, matching, object, whole } from '@portcullis/link/shape.ts';
import { parts } from './content.ts';
import { CHAIN_START, frame, type Frames, unframe } from './frames.ts';

const NETWORKS_PER_RECORD = 5_000;
const word = matching(/^[\x21-\x7e]{1,128}$/, 'a name');

interface Head {
  readonly version: string;
  /** How many records follow. */
  readonly pieces: number;
}
interface Piece {
  readonly name: string;
  readonly networks: readonly unknown[];
}
const head = object<Head>({ version: word, pieces: whole });
const piece = object<Piece>({ name: word, networks: list((value) => value, NETWORKS_PER_RECORD) });

/** Source sets as records; a large set in several. */
export function* writeSets({ version, sets }: SourceSets): Generator<Frames> {
  const pieces = Object.entries(sets).flatMap(([name, all]): Piece[] => {
    const cut = [...parts(all, NETWORKS_PER_RECORD)];
    return (cut.length === 0 ? [[]] : cut).map((networks) => ({ name, networks }));
  });
  let frames = frame(CHAIN_START, { version, pieces: pieces.length } satisfies Head);
  yield frames;
  for (const one of pieces) {
    frames = frame(frames.chain, one);
    yield frames;
  }
}

/** All of it or null. */
export function readSets(bytes: Buffer): SourceSets | null {
  const { records, damaged } = unframe(bytes);
  const [first, ...rest] = records;
  const begin = check(head, first);
  if (!begin.ok || damaged || rest.length !== begin.value.pieces) return null;
  const sets = new Map<string, unknown[]>();
  for (const record of rest) {
    const checked = check(piece, record);
    if (!checked.ok) return null;
    const { name, networks } = checked.value;
    const known = sets.get(name) ?? [];
    for (const network of networks) known.push(network);
    sets.set(name, known);
  }
  const { version } = begin.value;
  const checked = check(sourceSets, { version, sets: Object.fromEntries(sets) });
  return checked.ok ? checked.value : null;
}
