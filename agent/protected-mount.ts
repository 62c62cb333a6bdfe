import { readFileSync, realpathSync } from 'node:fs';
import koffi from 'koffi';

/** include/uapi/linux/mount.h: the flags of one mount, by the words that the kernel shows for them. */
const FLAGS: Readonly<Record<string, number>> = {
  ro: 1,
  nosuid: 2,
  nodev: 4,
  noexec: 8,
  noatime: 1024,
  nodiratime: 2048,
  relatime: 1 << 21,
};
const MS_REMOUNT = 32;
const MS_BIND = 4096;
const PROTECTION = ['nosuid', 'nodev'] as const;

interface Mount {
  /** Whether the path itself is the mount point. */
  readonly isExact: boolean;
  /** The mount's own options, without those of its file system. */
  readonly options: readonly string[];
}

/** Whether set-user-id programs and devices below this folder have no effect, for this process's view of the host. */
export function isProtected(folder: string): boolean {
  const found = mountOf(readMounts(), realpathSync(folder));
  return found !== null && PROTECTION.every((option) => found.options.includes(option));
}

/**
 * Mounts a folder on itself, so that set-user-id programs and devices in it have no effect, and what is mounted of it
 * elsewhere inherits that. No-op where that is so. Returns true if this call made a mount point. Throws where the kernel
 * does not allow it.
 */
export function protectFolder(folder: string): boolean {
  const path = realpathSync(folder);
  if (isProtected(path)) return false;
  const { mount } = openLibc();
  const isNew = mountOf(readMounts(), path)?.isExact !== true;
  if (isNew) call('mount', mount(path, path, null, MS_BIND, null));
  const { options = [] } = mountOf(readMounts(), path) ?? {};
  const flags = [...options, ...PROTECTION].reduce((all, name) => all | (FLAGS[name] ?? 0), 0);
  call('remount', mount(null, path, null, MS_REMOUNT | MS_BIND | flags, null));
  return isNew;
}

/** Undoes `protectFolder`. What is in use stays mounted. */
export function releaseFolder(folder: string): void {
  try {
    openLibc().umount2(realpathSync(folder), 0);
  } catch {
    // The folder is gone, and its mount with it.
  }
}

/** The mount that a path belongs to, of the text of `/proc/self/mountinfo`: the last of those with the longest prefix. */
export function mountOf(mountinfo: string, path: string): Mount | null {
  let best: { readonly point: string; readonly options: readonly string[] } | null = null;
  for (const line of mountinfo.split('\n')) {
    const [, , , , escaped, options] = line.split(' ');
    if (escaped === undefined || options === undefined) continue;
    const point = escaped.replaceAll(/\\([0-7]{3})/g, (_, octal: string) =>
      String.fromCharCode(Number.parseInt(octal, 8)),
    );
    const isAbove = point === '/' || path === point || path.startsWith(`${point}/`);
    if (isAbove && point.length >= (best?.point.length ?? 0))
      best = { point, options: options.split(',') };
  }
  return best && { isExact: best.point === path, options: best.options };
}

function readMounts(): string {
  return readFileSync('/proc/self/mountinfo', 'utf8');
}

interface Libc {
  mount(
    source: string | null,
    target: string,
    type: string | null,
    flags: number,
    data: string | null,
  ): number;
  umount2(target: string, flags: number): number;
}

function openLibc(): Libc {
  const libc = koffi.load('libc.so.6');
  return {
    mount: libc.func(
      'int mount(const char *source, const char *target, const char *type, unsigned long flags, const void *data)',
    ) as Libc['mount'],
    umount2: libc.func('int umount2(const char *target, int flags)') as Libc['umount2'],
  };
}

function call(what: string, status: number): void {
  if (status !== 0) throw new Error(`${what}: errno ${koffi.errno()}`);
}
