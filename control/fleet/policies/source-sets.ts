import { createHash } from 'node:crypto';
import { type FileHandle, open, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { SourceSets } from '@portcullis/core/firewall/policy.ts';
import { type Family, parseAddress } from '@portcullis/core/net/address.ts';
import { formatCidr } from '@portcullis/core/net/cidr.ts';
import { rangeToCidrs } from '@portcullis/core/net/cidr-sets.ts';

/** A data package: two files of `first,last,key[,words]`, sorted, and what a set of its keys is called. */
interface DataPackage {
  readonly packageName: string;
  readonly prefix: 'country:' | 'asn:';
  readonly files: readonly { readonly family: Family; readonly name: string }[];
}

/** Licences: CC0 for the countries, CC BY 4.0 (RouteViews, DB-IP) for the ASNs. See docs/decisions. */
const PACKAGES: readonly DataPackage[] = [
  {
    packageName: '@ip-location-db/geo-whois-asn-country',
    prefix: 'country:',
    files: [
      { family: 4, name: 'geo-whois-asn-country-ipv4.csv' },
      { family: 6, name: 'geo-whois-asn-country-ipv6.csv' },
    ],
  },
  {
    packageName: '@ip-location-db/asn',
    prefix: 'asn:',
    files: [
      { family: 4, name: 'asn-ipv4.csv' },
      { family: 6, name: 'asn-ipv6.csv' },
    ],
  },
];

/** The number of cached sets, or all of the last request; the least recently used go first. */
const CACHED_SETS = 500;
/** Ranges between two yields to the event loop. */
const RANGES_PER_TURN = 2_000;

/**
 * The country and ASN data. Files stay open from `openSourceData` on, so that they can be read after the process has
 * dropped root, or while a package is replaced.
 */
export class SourceData {
  readonly #open: readonly OpenPackage[];
  readonly #dataVersion: string;
  readonly #cache = new Map<string, readonly string[]>();
  /** Loads are serialised: a second caller usually finds its sets cached. */
  #loading: Promise<unknown> = Promise.resolve();

  constructor(packages: readonly OpenPackage[]) {
    this.#open = packages;
    this.#dataVersion = packages.map(({ name, version }) => `${name}@${version}`).join(' ');
  }

  /**
   * The contents of these sets (`country:DE`, `asn:64496`): merged, canonical CIDRs with lengths, IPv4 first.
   * What the data does not know is an empty set. The version names the data and the sets, so it changes when
   * either does.
   */
  async load(names: readonly string[]): Promise<SourceSets> {
    const wanted = [...new Set(names)].toSorted();
    const turn = this.#loading.then(() => this.#loadMissing(wanted));
    this.#loading = turn.catch(() => {});
    const found = await turn;
    const sets = Object.fromEntries(wanted.map((name) => [name, found.get(name) ?? []]));
    return { version: this.#versionOf(sets), sets };
  }

  async close(): Promise<void> {
    await this.#loading;
    await Promise.all(this.#open.flatMap(({ files }) => files.map(({ handle }) => handle.close())));
  }

  async #loadMissing(wanted: readonly string[]): Promise<Map<string, readonly string[]>> {
    const found = new Map<string, readonly string[]>();
    for (const name of wanted) {
      const known = this.#cache.get(name);
      if (known !== undefined) found.set(name, known);
    }
    for (const { prefix, files } of this.#open) {
      const missing = wanted.filter((name) => name.startsWith(prefix) && !found.has(name));
      if (missing.length === 0) continue;
      const loaded = await readSets(
        files,
        missing.map((name) => name.slice(prefix.length)),
      );
      for (const [key, cidrs] of loaded) found.set(`${prefix}${key}`, cidrs);
    }
    this.#remember(found);
    return found;
  }

  #remember(found: ReadonlyMap<string, readonly string[]>): void {
    for (const [name, cidrs] of found) {
      this.#cache.delete(name);
      this.#cache.set(name, cidrs);
    }
    for (const name of this.#cache.keys()) {
      if (this.#cache.size <= Math.max(CACHED_SETS, found.size)) break;
      this.#cache.delete(name);
    }
  }

  #versionOf(sets: Readonly<Record<string, readonly string[]>>): string {
    const hash = createHash('sha256').update(this.#dataVersion);
    for (const [name, cidrs] of Object.entries(sets)) hash.update(`\n${name} ${cidrs.length}`);
    const dates = this.#open.map(({ version }) => version);
    return `${[...new Set(dates)].join('+')}-${hash.digest('hex').slice(0, 16)}`;
  }
}

interface OpenFile {
  readonly family: Family;
  readonly handle: FileHandle;
}
interface OpenPackage {
  readonly name: string;
  readonly version: string;
  readonly prefix: string;
  readonly files: readonly OpenFile[];
}

/** Opens the data packages. Close it when done. */
export async function openSourceData(): Promise<SourceData> {
  const opened: OpenPackage[] = [];
  for (const { packageName, prefix, files } of PACKAGES) {
    const manifest = createRequire(import.meta.url).resolve(`${packageName}/package.json`);
    const { version }: { version: string } = JSON.parse(await readFile(manifest, 'utf8'));
    const handles: OpenFile[] = [];
    for (const { family, name } of files) {
      handles.push({ family, handle: await open(join(dirname(manifest), name), 'r') });
    }
    opened.push({ name: packageName, version, prefix, files: handles });
  }
  return new SourceData(opened);
}

let shared: Promise<SourceData> | undefined;

/** Opens the data that `loadSourceSets` reads; call it before dropping root. */
export async function prepareSourceSets(): Promise<void> {
  shared ??= openSourceData();
  await shared;
}

/** Loads source sets from the data that this process keeps open. See `SourceData.load`. */
export async function loadSourceSets(names: readonly string[]): Promise<SourceSets> {
  shared ??= openSourceData();
  return (await shared).load(names);
}

/** Closes the data; for tests, and when the process stops. */
export async function releaseSourceSets(): Promise<void> {
  const data = shared;
  shared = undefined;
  await (await data)?.close();
}

async function readSets(
  files: readonly OpenFile[],
  keys: readonly string[],
): Promise<Map<string, readonly string[]>> {
  const found = new Map<string, string[]>(keys.map((key) => [key, []]));
  for (const { family, handle } of files) {
    for (const [key, ranges] of await readRanges(handle, family, new Set(keys))) {
      const cidrs = found.get(key);
      for (const [index, { first, last }] of joinRanges(ranges).entries()) {
        if (index % RANGES_PER_TURN === 0) await yieldToEventLoop();
        for (const cidr of rangeToCidrs(family, first, last)) cidrs?.push(formatCidr(cidr));
      }
    }
  }
  return found;
}

interface Range {
  readonly first: bigint;
  readonly last: bigint;
}

/** Reads a file from its beginning through its open handle, keeping nothing but the ranges of these keys. */
async function readRanges(
  handle: FileHandle,
  family: Family,
  keys: ReadonlySet<string>,
): Promise<Map<string, Range[]>> {
  const found = new Map<string, Range[]>(Array.from(keys, (key) => [key, []]));
  const addLine = (line: string): void => {
    const [first = '', last = '', key = ''] = line.split(',', 3);
    found.get(key)?.push({ first: addressValue(first, family), last: addressValue(last, family) });
  };
  let rest = '';
  const input = handle.createReadStream({ start: 0, autoClose: false, encoding: 'latin1' });
  for await (const chunk of input) {
    const lines = `${rest}${chunk as string}`.split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) addLine(line);
    await yieldToEventLoop();
  }
  if (rest !== '') addLine(rest);
  return found;
}

/** Joins adjacent ranges, so that they make the fewest networks. */
function joinRanges(ranges: readonly Range[]): Range[] {
  const joined: Range[] = [];
  for (const range of inOrder(ranges)) {
    const previous = joined.at(-1);
    if (previous === undefined || range.first > previous.last + 1n) joined.push(range);
    else if (range.last > previous.last) {
      joined[joined.length - 1] = { first: previous.first, last: range.last };
    }
  }
  return joined;
}

/** Sorts only when needed: the data is normally sorted. */
function inOrder(ranges: readonly Range[]): readonly Range[] {
  const sorted = ranges.every(
    (range, at) => at === 0 || range.first >= (ranges[at - 1]?.first ?? 0n),
  );
  return sorted ? ranges : ranges.toSorted((a, b) => (a.first < b.first ? -1 : 1));
}

function addressValue(text: string, family: Family): bigint {
  const parsed = parseAddress(text);
  if (!parsed.ok) throw new Error(`the source data names ${text}: ${parsed.reason}`);
  if (parsed.value.family !== family)
    throw new Error(`the source data has ${text} among IPv${family}`);
  return parsed.value.value;
}

function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
