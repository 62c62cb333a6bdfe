import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { importedFiles, production, type Room, ROOMS, roomOf, root } from './sources.ts';

/**
 * Draws docs/rooms.svg: every room with its description of package.json, and an arrow for each import between rooms
 * that no longer way implies. `--check` fails if the committed picture differs.
 */
const PATH = join(root, 'docs', 'rooms.svg');
const WIDTH = 900;
/** The centre of each room; a new room needs one. */
const COLUMN: Readonly<Record<Room, number>> = {
  lab: 790,
  cli: 190,
  node: 330,
  collector: 550,
  edge: 780,
  control: 110,
  client: 330,
  caller: 330,
  portal: 440,
  agent: 440,
  link: 330,
  dataplane: 780,
  contract: 110,
  core: 550,
};
const BOX = { width: 190, height: 62, gapY: 64 } as const;

const imports = new Map<Room, Set<Room>>(ROOMS.map((room) => [room, importedBy(room)]));
const svg = draw();
if (process.argv.includes('--check')) {
  if (readFileSync(PATH, 'utf8') !== svg) {
    console.error('docs/rooms.svg is out of date: run npm run build:rooms');
    process.exitCode = 1;
  }
} else {
  writeFileSync(PATH, svg);
}

function importedBy(room: Room): Set<Room> {
  const rooms = production
    .filter((file) => roomOf(file) === room)
    .flatMap((file) => importedFiles(file).map(roomOf));
  return new Set(rooms.filter((one) => one !== room && ROOMS.includes(one)));
}

/** The length of the longest way down: a room stands above everything that it imports. */
function floorOf(room: Room): number {
  return Math.max(0, ...[...(imports.get(room) ?? [])].map((one) => floorOf(one) + 1));
}

function reaches(from: Room, to: Room): boolean {
  return [...(imports.get(from) ?? [])].some((one) => one === to || reaches(one, to));
}

/** Arrows without those that a longer way implies. */
function arrowsOf(room: Room): Room[] {
  const all = [...(imports.get(room) ?? [])];
  return all.filter((to) => !all.some((over) => over !== to && reaches(over, to)));
}

function draw(): string {
  const floors = Math.max(...ROOMS.map(floorOf));
  const height = (floors + 1) * (BOX.height + BOX.gapY) - BOX.gapY + 40;
  const places = new Map<Room, { readonly x: number; readonly y: number }>();
  for (let floor = 0; floor <= floors; floor++) {
    const y = 20 + (floors - floor) * (BOX.height + BOX.gapY);
    for (const room of ROOMS) if (floorOf(room) === floor) places.set(room, { x: COLUMN[room], y });
  }
  // The lab imports every room: its arrows would hide the others.
  const arrows = ROOMS.filter((room) => room !== 'lab').flatMap((room) =>
    arrowsOf(room).map((to) => {
      const [a, b] = [places.get(room), places.get(to)];
      if (a === undefined || b === undefined) throw new Error(`no place for ${room}`);
      const [fromY, toY] = [a.y + BOX.height, b.y - 2];
      const bend = (toY - fromY) / 2;
      return `  <path class="arrow" d="M${a.x} ${fromY} C${a.x} ${fromY + bend} ${b.x} ${toY - bend} ${b.x} ${toY}"/>`;
    }),
  );
  const boxes = [...places].flatMap(([room, { x, y }]) => [
    `  <rect class="room" x="${x - BOX.width / 2}" y="${y}" width="${BOX.width}" height="${BOX.height}" rx="6"/>`,
    `  <text x="${x}" y="${y + 24}" text-anchor="middle" font-weight="bold">${room}/</text>`,
    ...linesOf(room).map(
      (line, index) =>
        `  <text x="${x}" y="${y + 41 + index * 14}" text-anchor="middle" class="small">${line}</text>`,
    ),
  ]);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="system-ui, sans-serif" font-size="15" role="img" aria-label="The rooms of the repository; an arrow points from a room to one that it imports.">`,
    '  <style>',
    '    .room { fill: #f6f8fa; stroke: #57606a; stroke-width: 1.5; }',
    '    .arrow { fill: none; stroke: #8c959f; stroke-width: 1.5; marker-end: url(#tip); }',
    '    text { fill: #1f2328; }',
    '    .small { font-size: 11px; fill: #57606a; }',
    '  </style>',
    '  <defs>',
    '    <marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto">',
    '      <path d="M0 0 L10 5 L0 10 z" fill="#8c959f"/>',
    '    </marker>',
    '  </defs>',
    `  <rect width="${WIDTH}" height="${height}" fill="#ffffff"/>`,
    ...arrows,
    ...boxes,
    '</svg>',
    '',
  ].join('\n');
}

/** The description of package.json in two lines. */
function linesOf(room: Room): string[] {
  const { description = '' } = JSON.parse(
    readFileSync(join(root, room, 'package.json'), 'utf8'),
  ) as { readonly description?: string };
  const words = description.split(' ');
  let first = '';
  while (words.length > 0 && `${first} ${words[0]}`.length <= 31) first += ` ${words.shift()}`;
  return [first.trim(), words.join(' ')].filter((line) => line !== '');
}
