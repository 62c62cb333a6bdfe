import { type ChildProcess, spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Namespace } from '../../stack/netns.ts';
import type { Counted, Round } from './plan.ts';

/** Sends from the devices of a namespace (generator.ts), on the last processor. */
export class Generator {
  readonly #child: ChildProcess;
  readonly #waiting: PromiseWithResolvers<Counted>[] = [];

  /** `niceness`: of the whole process, so of sending and of what a packet costs where it arrives. */
  constructor(namespace: Namespace, { niceness }: { readonly niceness: number }) {
    const args = [
      `--net=/run/netns/${namespace.name}`,
      'taskset',
      '--cpu-list',
      // Away from the first, which interrupts of everything else come to.
      String(availableParallelism() - 1),
      'nice',
      `--adjustment=${niceness}`,
      process.execPath,
      join(import.meta.dirname, 'generator.ts'),
    ];
    const child = spawn('nsenter', args, { stdio: ['pipe', 'pipe', 'inherit'] });
    createInterface({ input: child.stdout }).on('line', (line) =>
      this.#waiting.shift()?.resolve(JSON.parse(line) as Counted),
    );
    child.once('exit', (code) => {
      for (const { reject } of this.#waiting) reject(new Error(`the generator ended with ${code}`));
    });
    this.#child = child;
  }

  send(round: Round): Promise<Counted> {
    const answer = Promise.withResolvers<Counted>();
    this.#waiting.push(answer);
    this.#child.stdin?.write(`${JSON.stringify(round)}\n`);
    return answer.promise;
  }

  stop(): void {
    this.#child.kill();
  }
}
