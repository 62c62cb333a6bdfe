import { join } from 'node:path';

/** A local image: a layer that all share, and one of its own on it. */
export interface Recipe {
  /** The name of the image: `portcullis/<name>`. */
  readonly name: string;
  /** Packages of Debian; what they depend on comes along, what they only recommend does not. */
  readonly packages: readonly string[];
  readonly files: readonly RecipeFile[];
  /** Folder with `package.json` and `package-lock.json`; its packages come to `/opt/<name>/node_modules`. */
  readonly npm: RecipeNpm | null;
}
export interface RecipeFile {
  /** In `files/` beside this. */
  readonly from: string;
  /** Absolute, in the image. */
  readonly to: string;
  readonly executable: boolean;
}
export interface RecipeNpm {
  readonly folder: string;
  /** Paths below `node_modules` that the game does not need, as `globSync` takes them. */
  readonly without: readonly string[];
}

const program = (name: string): RecipeFile => ({
  from: `bin/${name}`,
  to: `/usr/local/bin/${name}`,
  executable: true,
});
const plain = (from: string, to: string): RecipeFile => ({ from, to, executable: false });

const LUANTI_MODS = '/usr/share/games/minetest/games/minetest_game/mods';

export const BASE: Recipe = {
  name: 'base',
  packages: ['bash', 'coreutils', 'libc6', 'libc-bin', 'tzdata'],
  files: [{ from: 'bin/entrypoint', to: '/entrypoint', executable: true }],
  npm: null,
};

/** One for each shipped egg; see `eggs/`. */
export const RECIPES: readonly Recipe[] = [
  {
    name: 'flying-squid',
    packages: ['libstdc++6', 'libatomic1'],
    files: [
      program('serve-flying-squid'),
      plain('flying-squid/start.cjs', '/opt/flying-squid/start.cjs'),
    ],
    npm: {
      folder: 'flying-squid',
      without: [
        // Three quarters of all: another edition of the game.
        'minecraft-data/minecraft-data/data/bedrock/!(common)',
        'flying-squid/{world,test,docs,examples}',
        'node-linux-*/{include,share}',
      ],
    },
  },
  {
    name: 'luanti',
    packages: ['minetest-server'],
    files: [
      program('serve-luanti'),
      plain('luanti-console/mod.conf', `${LUANTI_MODS}/console/mod.conf`),
      plain('luanti-console/init.lua', `${LUANTI_MODS}/console/init.lua`),
    ],
    npm: null,
  },
  {
    name: 'teeworlds',
    packages: ['teeworlds-server'],
    files: [program('serve-teeworlds')],
    npm: null,
  },
  {
    name: 'openttd',
    packages: ['openttd', 'openttd-opengfx'],
    files: [
      program('serve-openttd'),
      // Runs when a game begins, new or loaded: a loaded one begins without a word.
      plain('openttd-game_start.scr', '/usr/share/games/openttd/scripts/game_start.scr'),
    ],
    npm: null,
  },
  { name: 'bzflag', packages: ['bzflag-server'], files: [program('serve-bzflag')], npm: null },
  {
    name: 'freeciv',
    packages: ['freeciv-server', 'xz-utils'],
    files: [program('serve-freeciv')],
    npm: null,
  },
];

export const FILES = join(import.meta.dirname, 'files');

/** How eggs name it, without the `~` that says that it is local. */
export function referenceOf(recipe: Recipe): string {
  return `portcullis/${recipe.name}`;
}
