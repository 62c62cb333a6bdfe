import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execFileSync } from 'node:child_process';
import type { Namespace } from './netns.ts';

/** For a busy machine; it costs nothing where sshd answers. */
const PATIENT_S = 20;

/** A real sshd that listens in a namespace until it is stopped. Nobody can log in: its banner is enough to reach it. */
export function startSshd(where: Namespace, listen: readonly string[]): { stop(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'pcl-sshd-'));
  const key = join(folder, 'key');
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key]);
  confineSshd();
  const addresses = listen.flatMap((address) => ['-o', `ListenAddress=${address}`]);
  const options = ['-o', 'PidFile=none', '-o', 'UsePAM=no', '-o', 'LoginGraceTime=600'];
  const daemon = where.spawn(
    ['/usr/sbin/sshd', '-D', '-e', '-f', '/dev/null', '-h', key, ...options, ...addresses],
    { stdio: 'ignore' },
  );
  return {
    stop: () => {
      daemon.kill('SIGTERM');
      rmSync(folder, { recursive: true });
    },
  };
}

/** Makes the folder in which sshd confines what it does before a login; without it sshd does not start. */
export function confineSshd(): void {
  mkdirSync('/run/sshd', { recursive: true, mode: 0o755 });
}

/** Whether sshd says its name to a client. Where no answer is expected, two seconds are enough. */
export function answersSsh(
  client: Namespace,
  address: string,
  port: number,
  seconds = PATIENT_S,
): boolean {
  try {
    const read = `exec 3<>/dev/tcp/${address}/${port} && head -c 4 <&3`;
    return client.run('timeout', String(seconds), 'bash', '-c', read).startsWith('SSH-');
  } catch {
    return false;
  }
}
