import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

/** A control plane with a database of its own in this folder, or on that of another one. */
export async function startControl(data: string, databaseUrl?: string) {
  const child = fork(join(import.meta.dirname, '..', '..', '..', 'control', 'main.ts'), {
    env: {
      ...process.env,
      PORTCULLIS_DATA: data,
      PORTCULLIS_LISTEN: '127.0.0.1:0',
      PORTCULLIS_METRICS_LISTEN: 'off',
      PORTCULLIS_LOG_LEVEL: 'error',
      ...(databaseUrl === undefined ? {} : { DATABASE_URL: databaseUrl }),
    },
  });
  const [ready] = (await once(child, 'message')) as [
    { url: string; facts: { databaseUrl: string; linkSocket: string } },
  ];
  return { child, port: Number(new URL(ready.url).port), ...ready.facts };
}

export async function end(child: ChildProcess | null): Promise<void> {
  if (child === null || child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGTERM');
  await gone;
}
