import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { warn } from '@portcullis/caller/output.ts';

const ROOT = join(import.meta.dirname, '..');
const PORTAL = join(ROOT, 'portal');
const BUILT = join(PORTAL, 'dist');
const VITE = join(ROOT, 'node_modules', 'vite', 'bin', 'vite.js');
const SOURCES = ['index.html', 'vite.config.ts', 'public', 'src'];

/**
 * Builds the portal if it is missing or older than its sources, because `npm ci` runs no script. A checkout that cannot
 * be written, or has no vite, goes on without the portal or with the old one, and says so.
 */
export async function buildPortalIfNeeded(): Promise<void> {
  // A package has no sources.
  if (!existsSync(join(PORTAL, 'src'))) return;
  const built = builtAt();
  if (built !== null && built >= changedAt()) return;
  const folder = `${BUILT}-${process.pid}`;
  try {
    if (!existsSync(VITE)) throw new Error('vite is not installed');
    const args = [VITE, 'build', '--outDir', folder, '--logLevel', 'error'];
    const child = spawn(process.execPath, args, {
      cwd: PORTAL,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let output = '';
    child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
    const [code] = (await once(child, 'close')) as [number | null];
    if (code !== 0) throw new Error(output.trim().split('\n')[0] ?? 'no reason given');
    rmSync(BUILT, { recursive: true, force: true });
    renameSync(folder, BUILT);
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    // Another start built it in the meantime.
    if (builtAt() !== built) return;
    const kept = built === null ? 'there is none' : 'the old one is served';
    const reason = error instanceof Error ? error.message : String(error);
    warn(`The portal was not built, so ${kept}: ${reason}. To see why: npm run build -w portal`);
  }
}

function builtAt(): number | null {
  return statSync(join(BUILT, 'index.html'), { throwIfNoEntry: false })?.mtimeMs ?? null;
}

function changedAt(): number {
  const files = SOURCES.map((name) => join(PORTAL, name)).flatMap((path) =>
    statSync(path).isDirectory()
      ? readdirSync(path, { recursive: true, encoding: 'utf8' }).map((name) => join(path, name))
      : [path],
  );
  return Math.max(...files.map((file) => statSync(file).mtimeMs));
}
