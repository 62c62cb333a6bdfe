import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { describe, it } from 'node:test';

/** The import lines of docs/architecture.md. Tests may import more: they may play the other side. */
const MAY_IMPORT = {
  contract: [],
  core: [],
  link: ['core'],
  control: ['contract', 'core', 'link'],
  agent: ['core', 'link'],
  dataplane: ['core'],
  edge: ['core', 'link', 'agent', 'dataplane'],
  collector: ['core', 'link', 'agent'],
  node: ['core', 'link', 'agent'],
  cli: ['contract', 'core', 'link', 'control', 'agent', 'dataplane', 'edge', 'collector', 'node'],
  lab: [
    'contract',
    'core',
    'link',
    'control',
    'agent',
    'dataplane',
    'edge',
    'collector',
    'node',
    'cli',
  ],
} as const satisfies Readonly<Record<string, readonly string[]>>;
type Room = keyof typeof MAY_IMPORT;
const ROOMS = Object.keys(MAY_IMPORT) as Room[];

/** What other areas of control may open beside an area's `index.ts`. */
const DOORS: Readonly<Record<string, readonly string[]>> = {
  access: [],
  // Each a smaller area of its own, for the fleet file now and the portal later.
  firewall: ['groups/index.ts', 'geo/index.ts'],
  // Shared by every area that writes: a write takes a generation, alone or in a batch, and may need a policy.
  fleet: ['generations.ts', 'batch.ts', 'policies.ts'],
};

const MAX_LINES = 400;
/** `core` decides and touches nothing; `isIP` is a pure function that happens to live in node:net. */
const PURE_BUILTINS = new Set(['node:net']);
const IMPURE = /\b(?:Date\.now|new Date\(\)|performance\.now|Math\.random|crypto\.|process\.)/;

const root = join(import.meta.dirname, '..');
const files = ROOMS.flatMap((room) =>
  globSync(`${room}/**/*.ts`, { cwd: root, exclude: (path) => path.includes('node_modules') }),
);
const production = files.filter((file) => !isTestCode(file));

describe('the architecture', () => {
  it('has files to look at in every room', () => {
    for (const room of ROOMS)
      assert.ok(
        files.some((file) => roomOf(file) === room),
        room,
      );
  });

  it('keeps the import lines between rooms', () => {
    const crossed = production.flatMap((file) => {
      const allowed: readonly string[] = [roomOf(file), ...MAY_IMPORT[roomOf(file)]];
      return importsOf(file)
        .map((specifier) => ({ specifier, room: importedRoom(file, specifier) }))
        .filter(({ room }) => room !== null && !allowed.includes(room))
        .map(({ specifier }) => `${file} imports ${specifier}`);
    });
    assert.deepEqual(crossed, []);
  });

  it('lets nothing import the lab but tests, which ask it what the machine can do', () => {
    const importing = files.filter(
      (file) =>
        roomOf(file) !== 'lab' &&
        !isTestCode(file) &&
        importsOf(file).some((specifier) => importedRoom(file, specifier) === 'lab'),
    );
    assert.deepEqual(importing, []);
  });

  it('crosses rooms by package name, never by a relative path', () => {
    const crossed = files.flatMap((file) =>
      importsOf(file)
        .filter((specifier) => specifier.startsWith('.'))
        .filter((specifier) => roomOf(resolved(file, specifier)) !== roomOf(file))
        .map((specifier) => `${file} imports ${specifier}`),
    );
    assert.deepEqual(crossed, []);
  });

  it('enters an area of control by its door', () => {
    const broken = production
      .filter((file) => roomOf(file) === 'control')
      .flatMap((file) =>
        importsOf(file)
          .filter((specifier) => specifier.startsWith('.'))
          .map((specifier) => resolved(file, specifier))
          .filter((target) => areaOf(target) !== null && areaOf(target) !== areaOf(file))
          .filter((target) => !isDoor(target))
          .map((target) => `${file} imports ${target}`),
      );
    assert.deepEqual(broken, []);
  });

  it('imports only what the room declares', () => {
    const undeclared = files.flatMap((file) => {
      const declared = declaredIn(roomOf(file), isTestCode(file));
      return importsOf(file)
        .filter((specifier) => !specifier.startsWith('.') && !specifier.startsWith('node:'))
        .map(packageOf)
        .filter((name) => !declared.has(name))
        .map((name) => `${file} imports ${name}`);
    });
    assert.deepEqual(undeclared, []);
  });

  it('keeps core without I/O, clock, randomness and environment', () => {
    const impure = production
      .filter((file) => roomOf(file) === 'core')
      .filter(
        (file) =>
          IMPURE.test(withoutComments(file)) ||
          importsOf(file).some((one) => one.startsWith('node:') && !PURE_BUILTINS.has(one)),
      );
    assert.deepEqual(impure, []);
  });

  it(`keeps every file within ${MAX_LINES} lines`, () => {
    const long = files
      .map((file) => ({
        file,
        lines: readFileSync(join(root, file), 'utf8').split('\n').length - 1,
      }))
      .filter(({ lines }) => lines > MAX_LINES);
    assert.deepEqual(long, []);
  });
});

function isTestCode(file: string): boolean {
  return /(?:\.test|(?:^|[-/])suite|(?:^|[-/])testing)\.ts$|\/testing\//.test(file);
}

function roomOf(file: string): Room {
  return file.split(sep)[0] as Room;
}

/** The area of control a file belongs to; null outside of areas. */
function areaOf(file: string): string | null {
  const [room, folder] = file.split(sep);
  return room === 'control' && folder !== undefined && Object.hasOwn(DOORS, folder) ? folder : null;
}

function isDoor(file: string): boolean {
  const inArea = file.split(sep).slice(2).join('/');
  return inArea === 'index.ts' || (DOORS[areaOf(file) ?? ''] ?? []).includes(inArea);
}

function resolved(file: string, specifier: string): string {
  return relative(root, join(root, dirname(file), specifier));
}

function importedRoom(file: string, specifier: string): string | null {
  if (specifier.startsWith('.')) return roomOf(resolved(file, specifier));
  return /^@portcullis\/([^/]+)/.exec(specifier)?.[1] ?? null;
}

function packageOf(specifier: string): string {
  const parts = specifier.split('/');
  return specifier.startsWith('@') ? parts.slice(0, 2).join('/') : (parts[0] ?? '');
}

function importsOf(file: string): string[] {
  const found = withoutComments(file).matchAll(
    /(?:^|[;}\s])(?:import|from)\s*\(?\s*'((?:\.|@|node:|[a-z])[^'\s]*)'/g,
  );
  return [...found].map((match) => match[1] ?? '');
}

function withoutComments(file: string): string {
  return readFileSync(join(root, file), 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');
}

function declaredIn(room: Room, withTests: boolean): Set<string> {
  const own = manifest(join(root, room));
  const shared = manifest(root);
  return new Set([
    own.name,
    ...Object.keys(own.dependencies ?? {}),
    ...(withTests || room === 'lab' ? Object.keys(shared.devDependencies ?? {}) : []),
    // Tests play the other side of what their room talks to.
    ...(withTests ? ROOMS.map((one) => `@portcullis/${one}`) : []),
  ]);
}

interface Manifest {
  readonly name: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

function manifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;
}
