import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { renderPage } from './page.ts';
import { score } from './score.ts';
import { TRACES } from './traces.ts';

/** `npm run build:detection`: plays the traces and writes what came of it into docs/detection.md. */
const path = join(import.meta.dirname, '..', '..', 'docs', 'detection.md');
writeFileSync(path, renderPage(readFileSync(path, 'utf8'), TRACES.map(score)));
