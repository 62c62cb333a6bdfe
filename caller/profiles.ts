import { chmodSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { failed } from './exit.ts';

export interface Profile {
  /** The origin of a control plane. */
  readonly url: string;
  readonly key: string;
  /** PEM of an authority that is trusted for it, beside those of the system. */
  readonly ca?: string;
}

export interface Profiles {
  /** The name of the one that commands use; null: none. */
  readonly current: string | null;
  readonly profiles: Readonly<Record<string, Profile>>;
}

export const DEFAULT_PROFILE = 'default';
const NONE: Profiles = { current: null, profiles: {} };
const NAME = /^[\w.-]{1,64}$/;

export function isProfileName(name: string): boolean {
  return NAME.test(name) && !Object.hasOwn(Object.prototype, name);
}

/** Where `portcullis login` keeps keys: a file that only its owner can read. */
export function profilesFile(): string {
  const config = process.env['XDG_CONFIG_HOME'];
  return join(config || join(homedir(), '.config'), 'portcullis', 'profiles.json');
}

/** Throws if others can read the file, or if it is broken. */
export function loadProfiles(): Profiles {
  const file = profilesFile();
  const found = statSync(file, { throwIfNoEntry: false });
  if (found === undefined) return NONE;
  if ((found.mode & 0o077) !== 0) {
    throw failed(`others can read the keys in ${file}: run "chmod 600 ${file}"`);
  }
  const parsed = parse(readFileSync(file, 'utf8'));
  if (parsed === null) {
    throw failed(`${file} is not what "portcullis login" writes: remove it, and log in again`);
  }
  return parsed;
}

function parse(text: string): Profiles | null {
  try {
    const { current, profiles } = JSON.parse(text) as Profiles;
    const isValid =
      (current === null || typeof current === 'string') &&
      Object.values(profiles).every(
        ({ url, key, ca }) =>
          typeof key === 'string' &&
          typeof url === 'string' &&
          URL.canParse(url) &&
          (ca === undefined || typeof ca === 'string'),
      );
    return isValid ? { current, profiles } : null;
  } catch {
    return null;
  }
}

/** Replaces the file as a whole, so that a kill leaves the old one or the new one. */
export function saveProfiles(profiles: Profiles): void {
  const file = profilesFile();
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const fresh = `${file}.${process.pid}`;
  writeFileSync(fresh, `${JSON.stringify(profiles, null, 2)}\n`, { mode: 0o600 });
  // A file that was left by a kill keeps its mode.
  chmodSync(fresh, 0o600);
  renameSync(fresh, file);
}
