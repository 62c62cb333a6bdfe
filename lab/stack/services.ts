import type { ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import type { Internet } from './internet.ts';

/** Real servers behind the edge: HTTP and a UDP echo, on the server and (HTTP) in the container. */
export function startServices(internet: Internet): { stop(): void } {
  const script = join(import.meta.dirname, 'echo-server.ts');
  const start = (
    where: keyof Internet & ('server' | 'container' | 'client'),
    ...ports: string[]
  ): ChildProcess =>
    internet[where].spawn([process.execPath, script, where, ...ports], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  const running = (['client', 'server', 'container'] as const).map((one) =>
    start(one, '80', '27015'),
  );
  return {
    stop: () => {
      for (const child of running) child.kill();
    },
  };
}
