import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FILTERS } from '@portcullis/core/filters/catalogue.ts';
import { FLOWS_FILE, hasProtocol, parseRecording } from './flows.ts';
import { writePages } from './pages.ts';

/**
 * `npm run build:filter-pages [-- record]`: writes what foreign traffic each filter lets pass into its page. With `record`
 * it first runs the system tests of the filters, as root, and keeps what they send in flows.txt.
 */
if (process.argv[2] === 'record') record();
writePages();

function record(): void {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-record-'));
  try {
    const runner = join(import.meta.dirname, '..', 'test-runner', 'main.ts');
    const tests = FILTERS.filter(hasProtocol).map(
      ({ category, type }) => `lab/system/filters/${category}/${type}.test.ts`,
    );
    const { status } = spawnSync(process.execPath, [runner, '--suite=system', ...tests], {
      env: { ...process.env, PORTCULLIS_RECORD: folder },
      stdio: 'inherit',
    });
    if (status !== 0) throw new Error('the tests of the filters fail');
    const types = readdirSync(folder).toSorted();
    const lines = types.flatMap((type) =>
      parseRecording(type, readFileSync(join(folder, type), 'utf8')),
    );
    writeFileSync(FLOWS_FILE, `${lines.join('\n')}\n`);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
