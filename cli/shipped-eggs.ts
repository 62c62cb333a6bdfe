import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { EggShelf } from '@portcullis/control/fleet-file/read/egg-files.ts';
import { compilePattern } from '@portcullis/node/eggs/re2.ts';
import { EXAMPLE_EGG } from '@portcullis/node/examples/images.ts';

/** How a fleet file names the egg of the example that runs without Docker. */
export const EXAMPLE_EGG_NAME = 'eggs/hearth.json';

const FOLDER = join(import.meta.dirname, '..', 'eggs');

/** The eggs that ship, by the name that a fleet file has for them: `eggs/<name>.json`. */
export const SHIPPED_EGGS: EggShelf = {
  shipped(name) {
    if (name === EXAMPLE_EGG_NAME) return EXAMPLE_EGG;
    if (!/^eggs\/[a-z0-9][a-z0-9.-]*\.json$/.test(name)) return null;
    const path = join(FOLDER, basename(name));
    return existsSync(path) ? path : null;
  },
  compile: compilePattern,
};
