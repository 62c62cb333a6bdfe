import { runCommandLine } from '@portcullis/caller/program.ts';
import { PROGRAM } from '../program.ts';

/** Runs command lines one after the other for `CommandSession`, and sends their output to the parent. */
interface Request {
  readonly id: number;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

let queue = Promise.resolve();
process.on('message', (request: Request) => {
  queue = queue.then(() => runRequest(request));
});
process.on('disconnect', () => process.exit());

async function runRequest({ id, args, env }: Request): Promise<void> {
  process.env = { ...env };
  const output = { out: '', err: '' };
  process.stdout.write = (text) => ((output.out += String(text)), true);
  process.stderr.write = (text) => ((output.err += String(text)), true);
  const code = await runCommandLine(PROGRAM, args);
  process.send?.({ id, code, ...output });
}
