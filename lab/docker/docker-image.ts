import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { renderTar, type TarEntry } from './tar.ts';
import type { Dockerd } from './dockerd.ts';

/** Name of the lab's smallest image. */
export const BUSYBOX = 'lab/busybox:1';

const PROGRAM = '/bin/busybox';

/**
 * Debian's static busybox under all of its names, and nothing else: a shell, nc, dd, httpd, telnet in 2 MB. More
 * files and lines of a Dockerfile (such as `CMD ["sh"]`) make it what a test needs.
 */
export async function importBusybox(
  dockerd: Dockerd,
  reference = BUSYBOX,
  changes: readonly string[] = [],
  files: readonly TarEntry[] = [],
): Promise<void> {
  const names = execFileSync(PROGRAM, ['--list'], { encoding: 'utf8' }).split('\n').filter(Boolean);
  const links = names.filter((name) => name !== 'busybox');
  const tar = renderTar([
    ...['bin', 'etc', 'home', 'home/container', 'proc', 'sys', 'dev'].map(
      (path): TarEntry => ({ path, mode: 0o755, content: 'folder' }),
    ),
    { path: 'tmp', mode: 0o1777, content: 'folder' },
    { path: 'etc/passwd', mode: 0o644, content: Buffer.from('root:x:0:0::/:/bin/sh\n') },
    { path: 'bin/busybox', mode: 0o755, content: readFileSync(PROGRAM) },
    ...links.map(
      (name): TarEntry => ({ path: `bin/${name}`, mode: 0o777, content: { linkTo: 'busybox' } }),
    ),
    ...files,
  ]);
  await dockerd.importImage(reference, tar, changes);
}
