import { randomBytes } from 'node:crypto';
import type { FileAnswerOf, FileOperationOf } from '@portcullis/link/messages/files.ts';
import type { Gate } from '../gate.ts';
import { requirePresent } from '../operations/change.ts';
import { pathOf } from '../operations/list.ts';
import { FileRefusal } from '../refusal.ts';
import { requireWritable } from './receive.ts';

/** A link that is not used within this time is worth nothing. */
const LIFETIME_MS = 300_000;
/** Links that wait at a time. */
const MAX_WAITING = 10_000;
/** Links of one caller on one server that wait at a time. */
const MAX_OF_CALLER = 64;
/** Characters of the paths of links that wait: of one server, and of all. */
const MAX_PATHS_OF_SERVER = 1024 * 1024;
const MAX_PATHS = 16 * MAX_PATHS_OF_SERVER;

export type LinkKind = 'makeLink' | 'makeUploadLink';

/** The one transfer that a link is for. */
export interface Linked<O = FileOperationOf<LinkKind>> {
  readonly uuid: string;
  /** The caller whose rights it needs when it is used, and as long as it runs. */
  readonly caller: string;
  readonly operation: O;
}

/**
 * The links that this process made and that were not used. The token is random, and what it stands for stays here: a link cannot
 * be changed or used elsewhere, is good once, and ends with the process.
 */
export class FileLinks {
  readonly #waiting = new Map<string, { readonly of: Linked; readonly untilMs: number }>();
  /** Whether the listener that takes them is open: no link is made that leads nowhere. */
  isServed = false;
  readonly #url: string;
  readonly #now: () => number;

  /** `url`: where callers reach this node. */
  constructor(url: string, now: () => number = () => performance.now()) {
    this.#url = url.replace(/\/+$/, '');
    this.#now = now;
  }

  /** Throws a refusal if too many wait. */
  make(of: Linked): FileAnswerOf<'linked'> {
    for (const [token, { untilMs }] of this.#waiting)
      if (untilMs <= this.#now()) this.#waiting.delete(token);
    const all = [of, ...[...this.#waiting.values()].map((one) => one.of)];
    const ofServer = all.filter(({ uuid }) => uuid === of.uuid);
    const ofCaller = ofServer.filter(({ caller }) => caller === of.caller);
    const isTooMuch =
      all.length > MAX_WAITING ||
      ofCaller.length > MAX_OF_CALLER ||
      lengthOf(ofServer) > MAX_PATHS_OF_SERVER ||
      lengthOf(all) > MAX_PATHS;
    if (isTooMuch)
      throw new FileRefusal('busy', 'Too many links wait to be used. Use one, or wait 5 minutes.');
    const token = randomBytes(32).toString('base64url');
    this.#waiting.set(token, { of, untilMs: this.#now() + LIFETIME_MS });
    const expiresAtMs = Date.now() + LIFETIME_MS;
    return { kind: 'linked', url: `${this.#url}/files/${token}`, expiresAtMs };
  }

  /** Null for a link that is unknown, of another kind, expired or was used. */
  find<K extends LinkKind>(token: string, kind: K): Linked<FileOperationOf<K>> | null {
    const found = this.#waiting.get(token);
    if (found?.of.operation.kind !== kind || found.untilMs <= this.#now()) return null;
    return found.of as Linked<FileOperationOf<K>>;
  }

  /** Uses a link up. False: it was used before. */
  use(token: string): boolean {
    return this.#waiting.delete(token);
  }
}

function lengthOf(links: readonly Linked[]): number {
  return links
    .flatMap(({ operation }) => ('paths' in operation ? operation.paths : [operation.path]))
    .reduce((sum, { length }) => sum + length, 0);
}

/** Makes a link for the caller of the gate, which may read these files now. */
export async function makeLink(
  gate: Gate,
  operation: FileOperationOf<'makeLink'>,
  links: FileLinks | null,
): Promise<FileAnswerOf<'linked'>> {
  const make = makerOf(gate, links);
  if (operation.format === null && operation.paths.length !== 1)
    throw new FileRefusal('impossible', 'A link without a format is for one file.');
  for (const path of operation.paths)
    await requirePresent(await gate.place(pathOf(path), 'file.read-content'));
  return make(operation);
}

/** Makes a link for the caller of the gate, which may write this file now. */
export async function makeUploadLink(
  gate: Gate,
  operation: FileOperationOf<'makeUploadLink'>,
  links: FileLinks | null,
): Promise<FileAnswerOf<'linked'>> {
  const make = makerOf(gate, links);
  await requireWritable(gate, pathOf(operation.path), operation.expected);
  return make(operation);
}

function makerOf(gate: Gate, links: FileLinks | null) {
  if (links === null || !links.isServed) {
    const detail = 'The node serves no links to files now: send and receive them by control.';
    throw new FileRefusal('unavailable', detail);
  }
  const { caller } = gate;
  if (caller === null) throw new FileRefusal('impossible', 'A link needs a caller.');
  return (operation: Linked['operation']): FileAnswerOf<'linked'> =>
    links.make({ uuid: gate.files.uuid, caller, operation });
}
