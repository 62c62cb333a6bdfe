import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Cache } from './cache.ts';
import { run } from './run.ts';

/** A package of Debian, downloaded and checked by apt against the archive's signature. */
export interface DebianPackage {
  /** `name_version_architecture.deb`. */
  readonly file: string;
  readonly path: string;
}

const LISTS_MAX_AGE_MS = 24 * 3_600_000;

/**
 * For each list of names everything that it needs on a machine that has nothing, by this machine's own apt sources.
 * Nothing is installed: apt works in folders of its own, and no script of a package ever runs.
 */
export async function fetchPackages(
  cache: Cache,
  lists: readonly (readonly string[])[],
): Promise<DebianPackage[][]> {
  const apt = new Apt(cache.apt);
  await apt.update(LISTS_MAX_AGE_MS);
  try {
    return await apt.fetch(lists);
  } catch {
    // The archive may have moved on since the lists were read.
    await apt.update(0);
    return apt.fetch(lists);
  }
}

class Apt {
  readonly #root: string;
  readonly #options: readonly string[];

  constructor(root: string) {
    this.#root = root;
    mkdirSync(join(root, 'lists', 'partial'), { recursive: true });
    mkdirSync(join(root, 'cache', 'archives', 'partial'), { recursive: true });
    mkdirSync(join(root, 'empty', 'partial'), { recursive: true });
    // A machine on which nothing is installed.
    writeFileSync(join(root, 'status'), '');
    this.#options = [
      `Dir::State=${root}`,
      `Dir::State::status=${join(root, 'status')}`,
      `Dir::State::lists=${join(root, 'lists')}`,
      `Dir::Cache=${join(root, 'cache')}`,
      // Images of some vendors switch it off, and every call then reads all lists anew.
      'Dir::Cache::pkgcache=pkgcache.bin',
      'Dir::Cache::srcpkgcache=srcpkgcache.bin',
      'APT::Install-Recommends=false',
      'APT::Install-Suggests=false',
      'APT::Sandbox::User=',
      'APT::Update::Error-Mode=any',
    ].flatMap((option) => ['-o', option]);
  }

  async update(maxAgeMs: number): Promise<void> {
    const stamp = join(this.#root, 'updated');
    if (existsSync(stamp) && Date.now() - statSync(stamp).mtimeMs < maxAgeMs) return;
    await run('apt-get', [...this.#options, '-qq', 'update']);
    writeFileSync(stamp, '');
  }

  async fetch(lists: readonly (readonly string[])[]): Promise<DebianPackage[][]> {
    const closures: DebianPackage[][] = [];
    // apt prints what it would still have to download: from an empty folder, everything.
    const empty = ['-o', `Dir::Cache::archives=${join(this.#root, 'empty')}`];
    for (const names of lists)
      closures.push(this.#parse(await this.#install(['--print-uris', ...empty], names)));
    if (closures.flat().some(({ path }) => !existsSync(path)))
      await this.#install(['--download-only'], [...new Set(lists.flat())]);
    return closures;
  }

  #install(how: readonly string[], names: readonly string[]): Promise<string> {
    return run('apt-get', [...this.#options, ...how, '-qq', '--yes', 'install', ...names]);
  }

  #parse(uris: string): DebianPackage[] {
    return uris
      .split('\n')
      .filter((line) => line.startsWith("'"))
      .map((line) => line.split(' ')[1] ?? '')
      .map((file) => ({ file, path: join(this.#root, 'cache', 'archives', file) }))
      .toSorted((a, b) => (a.file < b.file ? -1 : 1));
  }
}
