import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';

/**
 * A bpffs that all processes of a lab share: each `ip netns exec` has a /sys of its own, in which what is
 * pinned ends with it. Nothing where the kernel has no bpffs.
 */
export function mountBpffs(folder: string): void {
  mkdirSync(folder, { mode: 0o755 });
  spawnSync('mount', ['-t', 'bpf', 'bpf', folder], { stdio: 'ignore' });
}

/** Unmounts it: everything that was pinned there is gone afterwards. */
export function unmountBpffs(folder: string): void {
  spawnSync('umount', ['--lazy', folder], { stdio: 'ignore' });
}
