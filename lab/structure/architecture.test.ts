import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { describe, it } from 'node:test';
import { circlesOf, layersOf } from './layers.ts';
import {
  files,
  importedFiles,
  importedRoom,
  importsOf,
  isTestCode,
  MAY_IMPORT,
  production,
  resolved,
  type Room,
  ROOMS,
  roomOf,
  root,
  withoutComments,
} from './sources.ts';

/** Areas of control, by folder, and the files that others may open beside an area's `index.ts`. */
const DOORS: Readonly<Record<string, readonly string[]>> = {
  access: [],
  accounts: [],
  'attacks/collectors': [],
  'attacks/detection': [],
  'attacks/history': [],
  'attacks/response': [],
  // Each a smaller area of its own, for the fleet file now and the portal later.
  firewall: [
    'blocked/index.ts',
    'groups/index.ts',
    'geo/index.ts',
    'defaults/index.ts',
    'named-ports/index.ts',
  ],
  // Shared by every area that writes: a write takes a generation, alone or in a batch, and may need a policy.
  fleet: ['generations.ts', 'batch.ts', 'policies/policies.ts', 'policies/blocked-sets.ts'],
  'game-servers': ['openings/index.ts'],
  mail: [],
  organisations: [],
  outbox: [],
  webhooks: [],
};

/** Reads a fleet file and applies it to every area; the operator's API has its rules from there. */
const FLEET_FILE = join('control', 'operator', 'fleet-file', sep);

const ADMINISTRATION = join('control', 'operator', 'administration', sep);
/** Hands both what they need. */
const COMPOSITION = join('control', 'composition', 'control.ts');

const MAX_LINES = 500;
const MAX_FILES = 24;
/** The longest chain of rooms of control, which are its folders and the files beside them. */
const MAX_FLOORS = 9;
/** Houses of several areas. */
const HOUSES = ['attacks', 'operator'];
/** Areas of control whose parts still import each other. */
const WITH_CIRCLES = ['accounts', 'firewall', 'operator/fleet-file', 'game-servers'];
/** `core` decides and touches nothing; `isIP` is a pure function that happens to live in node:net. */
const PURE_BUILTINS = new Set(['node:net']);
const IMPURE = /\b(?:Date\.now|new Date\(\)|performance\.now|Math\.random|crypto\.|process\.)/;

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

  it('has no import circle, type imports included', () => {
    assert.deepEqual(circlesOf(production, importedFiles), []);
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

  it(`stands on at most ${MAX_FLOORS} floors in control, without an import upward`, () => {
    const { floors, circles } = layersOf('control');
    assert.deepEqual(circles, []);
    const drawn = floors.map((entries, floor) => `${floor + 1} ${entries.join(' ')}`).join('\n');
    assert.ok(floors.length <= MAX_FLOORS, drawn);
  });

  it('has one direction inside the areas of control', () => {
    const inHouses = HOUSES.flatMap((house) =>
      layersOf(join('control', house))
        .floors.flat()
        .map((area) => `${house}/${area}`),
    );
    const areas = [...layersOf('control').floors.flat(), ...inHouses];
    const circles = areas
      .filter((area) => !WITH_CIRCLES.includes(area))
      .flatMap((area) => layersOf(join('control', area)).circles.map((circle) => [area, circle]));
    assert.deepEqual(circles, []);
  });

  it('keeps the fleet file above the areas of control', () => {
    const importing = production
      .filter((file) => roomOf(file) === 'control')
      .filter((file) => !file.startsWith(FLEET_FILE) && !file.startsWith(ADMINISTRATION))
      .filter(
        (file) =>
          file !== COMPOSITION &&
          importedFiles(file).some((target) => target.startsWith(FLEET_FILE)),
      );
    assert.deepEqual(importing, []);
  });

  it('imports only what the room declares', () => {
    const undeclared = files.flatMap((file) => {
      // A published package must not need what only builds it.
      const isDevelopment = isTestCode(file) || /\/(?:build[^/]*|vite\.config)\.ts$/.test(file);
      const declared = declaredIn(roomOf(file), isDevelopment);
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
      .filter((file) => !file.includes('/generated/'))
      .map((file) => ({
        file,
        lines: readFileSync(join(root, file), 'utf8').split('\n').length - 1,
      }))
      .filter(({ lines }) => lines > MAX_LINES);
    assert.deepEqual(long, []);
  });

  it(`keeps every folder within ${MAX_FILES} files`, () => {
    const folders = new Set(files.map((file) => dirname(file)));
    const crowded = [...folders]
      .map((folder) => ({ folder, entries: filesIn(folder) }))
      .filter(({ entries }) => entries > MAX_FILES);
    assert.deepEqual(crowded, []);
  });
});

function filesIn(folder: string): number {
  return readdirSync(join(root, folder), { withFileTypes: true }).filter((entry) => entry.isFile())
    .length;
}

/** The area of control a file belongs to; null outside of areas. */
function areaOf(file: string): string | null {
  const inControl = file.split(sep).slice(1).join('/');
  const isInside = (area: string): boolean => inControl.startsWith(`${area}/`);
  return roomOf(file) === 'control' ? (Object.keys(DOORS).find(isInside) ?? null) : null;
}

function isDoor(file: string): boolean {
  const area = areaOf(file) ?? '';
  const inArea = file.split(sep).slice(1).join('/').slice(`${area}/`.length);
  return inArea === 'index.ts' || (DOORS[area] ?? []).includes(inArea);
}

function packageOf(specifier: string): string {
  const parts = specifier.split('/');
  return specifier.startsWith('@') ? parts.slice(0, 2).join('/') : (parts[0] ?? '');
}

/** Packages of types alone: `@types/NAME` exists and NAME does not. */
const TYPES_ONLY = ['topojson-specification'];

function declaredIn(room: Room, withTests: boolean): Set<string> {
  const own = manifest(join(root, room));
  const shared = manifest(root);
  return new Set([
    own.name,
    ...Object.keys(own.dependencies ?? {}),
    ...TYPES_ONLY.filter((name) => own.devDependencies?.[`@types/${name}`] !== undefined),
    ...(withTests || room === 'lab' ? Object.keys(shared.devDependencies ?? {}) : []),
    ...(withTests ? Object.keys(own.devDependencies ?? {}) : []),
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
