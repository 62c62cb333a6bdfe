import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { deserialize, serialize } from 'node:v8';
import type { FleetFile } from '../desired.ts';
import type { EggFile } from './egg-files.ts';
import type { Environment } from './yaml-source.ts';

/** What a large fleet file was parsed to, with what it depended on besides its key. */
export interface ParsedFleet {
  readonly file: FleetFile;
  /** The names of its eggs, and `eggTag` of each. */
  readonly eggs: readonly (readonly [name: string, tag: string])[];
}

const CIPHER = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;
const ROOT = join(import.meta.dirname, '..', '..', '..');
/** Folders whose code decides what a text means. */
const CODE = ['parse', 'read', 'schema'].map((name) => join(import.meta.dirname, '..', name));

/**
 * The last large fleet file, parsed: reading 8 MB of YAML takes ten seconds, and most starts read what the last one read.
 * The content is encrypted under a key made of everything that it was made from, secrets of the environment included:
 * only who has all of that can read it, or make one that is accepted.
 */
export class ParsedCache {
  readonly #path: string;

  /** `path` is a file in a folder that exists; nothing is kept if it does not. */
  constructor(path: string) {
    this.#path = path;
  }

  /** Null if it is of another key, or cannot be read. */
  async load(key: Buffer): Promise<ParsedFleet | null> {
    try {
      const bytes = await readFile(this.#path);
      const tagEnd = IV_BYTES + TAG_BYTES;
      const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, IV_BYTES), {
        authTagLength: TAG_BYTES,
      });
      decipher.setAuthTag(bytes.subarray(IV_BYTES, tagEnd));
      const content = Buffer.concat([decipher.update(bytes.subarray(tagEnd)), decipher.final()]);
      return deserialize(content) as ParsedFleet;
    } catch {
      return null;
    }
  }

  /** A failure keeps nothing, and is not reported: the file is read again the next time. */
  async save(key: Buffer, parsed: ParsedFleet): Promise<void> {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv(CIPHER, key, iv, { authTagLength: TAG_BYTES });
    const content = Buffer.concat([cipher.update(serialize(parsed)), cipher.final()]);
    const draft = `${this.#path}.${randomBytes(6).toString('hex')}`;
    try {
      await writeFile(draft, Buffer.concat([iv, cipher.getAuthTag(), content]), {
        mode: 0o600,
        flag: 'wx',
      });
      await rename(draft, this.#path);
    } catch {
      await rm(draft, { force: true }).catch(() => {});
    }
  }
}

/** All that the result of parsing depends on, but for eggs. */
export async function parsedKey(text: string, path: string, env: Environment): Promise<Buffer> {
  const hash = createHash('sha256').update(JSON.stringify([version(), path, text.length]));
  hash.update(text);
  const named = [...text.matchAll(/\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g)].map(([, name = '']) => name);
  const names = [...new Set(named)];
  hash.update(JSON.stringify(names.map((name) => [name, env[name] ?? null])));
  for (const folder of CODE) {
    for (const name of (await readdir(folder)).toSorted())
      hash.update(await readFile(join(folder, name)));
  }
  return hash.digest();
}

export function eggTag(egg: EggFile | undefined): string {
  if (egg?.ok !== true) return '';
  return JSON.stringify([egg.found.digest, egg.found.notes]);
}

function version(): unknown {
  const { version: of } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    readonly version: unknown;
  };
  return [of, process.version];
}
